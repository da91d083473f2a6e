import * as client from '@ag-ui/client';
import { EventSchemas } from '@ag-ui/core/schemas';
import { run } from '../ag-ui/cases.mjs';

await run({ client, EventSchemas, version: 1, url: process.argv[2] });
