import * as ai from 'ai';
import { Chat } from '@ai-sdk/react';
import { WorkflowChatTransport } from '@ai-sdk/workflow/client';
import { run } from '../ai-sdk/cases.mjs';

await run({ ai, Chat, WorkflowChatTransport, sdk: 7, url: process.argv[2] });
