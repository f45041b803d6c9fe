import type { Message } from './turn.ts'

/** As a model is shown an interrupted reply. It depends on the message alone, so that what a wire made of it is kept. */
export function withInterruptionNote(message: Message): Message {
  if (!message.interrupted) return message
  const { interrupted: _, content, ...shown } = message
  const last = content.at(-1)
  if (last?.type !== 'text') return { ...shown, content: [...content, { type: 'text', text: interruptionNote }] }
  const text = `${last.text.trimEnd()}\n\n${interruptionNote}`
  return { ...shown, content: [...content.slice(0, -1), { ...last, text }] }
}

const interruptionNote = '[This reply was interrupted here, before it was complete.]'

/** What the model is told where a run goes on from an interrupted reply, and the user has said nothing since. */
export const goOnNote = '[Your last reply was interrupted. Go on from there.]'
