import * as ai from 'ai';
import { Chat } from '@ai-sdk/react';
import { WorkflowChatTransport } from '@ai-sdk/workflow/client';
import { crash } from '../ai-sdk/crash.mjs';

console.error = () => {}; // the transport says that its stream broke
await crash({ ai, Chat, WorkflowChatTransport, sdk: 7, program: process.argv[2] });
