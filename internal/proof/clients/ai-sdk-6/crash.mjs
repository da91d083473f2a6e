import * as ai from 'ai';
import { Chat } from '@ai-sdk/react';
import { crash } from '../ai-sdk/crash.mjs';

await crash({ ai, Chat, sdk: 6, program: process.argv[2] });
