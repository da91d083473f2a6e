import { agent, dormouse } from '../../../lib/dormouse';
import { Chat } from './chat';

export default async function Page({ params }) {
  const { id } = await params;
  const answer = await dormouse(`/${encodeURIComponent(id)}/messages`);
  if (!answer.ok && answer.status !== 404) throw new Error(await answer.text());
  return <Chat id={id} agent={agent} messages={answer.ok ? await answer.json() : []} />;
}
