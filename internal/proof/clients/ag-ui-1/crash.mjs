import * as client from '@ag-ui/client';
import { crash } from '../ag-ui/crash.mjs';

await crash({ client, version: 1, program: process.argv[2] });
