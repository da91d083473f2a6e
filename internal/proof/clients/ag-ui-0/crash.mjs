import * as client from '@ag-ui/client';
import { crash } from '../ag-ui/crash.mjs';

await crash({ client, version: 0, program: process.argv[2] });
