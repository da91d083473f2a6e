import * as ai from 'ai';
import { Chat } from '@ai-sdk/react';
import { run } from '../ai-sdk/cases.mjs';

await run({ ai, Chat, sdk: 5, url: process.argv[2] });
