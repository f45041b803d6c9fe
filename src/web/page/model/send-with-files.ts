import { type RemoteClient, RemoteProblem, type SentMessage } from '../libero.ts'
import type { OutboxMessage } from './outbox.ts'

/** Sends a message with the files that it names with `@`. A server without a folder attaches nothing: there they are only text. */
export async function sendWithFiles(
  client: Pick<RemoteClient, 'send'>,
  id: string,
  message: OutboxMessage,
): Promise<SentMessage> {
  if (!JSON.stringify(message.content).includes('@')) return client.send(id, message)
  try {
    return await client.send(id, { ...message, files: true })
  } catch (error) {
    if (!(error instanceof RemoteProblem) || error.status !== 501) throw error
    return client.send(id, message)
  }
}
