import type { Message } from './turn.ts'

/** An interrupted reply as the model gets it. It depends on the message alone, so that a wire can cache what it makes of it. */
export function withInterruptionNote(message: Message): Message {
  if (!message.interrupted) return message
  const { interrupted: _, content, ...shown } = message
  const last = content.at(-1)
  if (last?.type !== 'text') return { ...shown, content: [...content, { type: 'text', text: interruptionNote }] }
  const text = `${last.text.trimEnd()}\n\n${interruptionNote}`
  return { ...shown, content: [...content.slice(0, -1), { ...last, text }] }
}

const interruptionNote = '[This reply was interrupted here, before it was complete.]'

/** For the model, when a run continues from an interrupted reply and the user has sent nothing since. */
export const continueNote = '[Your last reply was interrupted. Go on from there.]'
