export const agent = process.env.DORMOUSE_AGENT ?? 'shop-desk';
const address = `${process.env.DORMOUSE_URL ?? 'http://127.0.0.1:8420'}/ai-sdk/${agent}`;

// dormouse calls the agent. Only this server does, so the token stays here, and browsers need no right to call Dormouse.
export function dormouse(path, options) {
  const headers = { 'Content-Type': 'application/json', 'X-AI-SDK-Version': '7' };
  if (process.env.DORMOUSE_TOKEN) headers.Authorization = `Bearer ${process.env.DORMOUSE_TOKEN}`;
  return fetch(address + path, { ...options, headers, cache: 'no-store' });
}
