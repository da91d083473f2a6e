import { connection } from 'next/server';
import { redirect } from 'next/navigation';

// Each visit begins a chat. Its address is that of the conversation: who opens it again finds it as it is.
export default async function Page() {
  await connection();
  redirect(`/chat/${crypto.randomUUID()}`);
}
