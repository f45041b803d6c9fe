import { visibleText } from '../../../platform/visible-text.ts'
import { boxed } from './boxed.ts'
import type { DialogPlace } from './dialog.ts'

/** Shows a question for good, with who asks it in words of our own: what stands behind the margin is somebody else's. */
export function showQuestion(who: string, text: unknown, { terminal }: Pick<DialogPlace, 'terminal'>): void {
  const { paint } = terminal
  const lines = visibleText(String(text)).replaceAll('\r\n', '\n').trimEnd().split('\n')
  terminal.line(['', paint.bold(paint.cyan(`? ${who}`)), ...boxed(lines, terminal)].join('\n'))
}

/** A question of the model's has an id by which it may be answered later. */
export const whoAsks = ({ questionId }: Readonly<Record<string, unknown>>): string =>
  questionId === undefined ? 'A question:' : 'The agent asks:'

/** Shows what was answered, for good. */
export function showAnswer(text: string, { terminal }: Pick<DialogPlace, 'terminal'>): void {
  const [first = '', ...more] = visibleText(text).split('\n')
  terminal.line([`${terminal.paint.cyan('›')} ${first}`, ...more.map((line) => `  ${line}`)].join('\n'))
}

/** What somebody gets who asked and was not answered. */
export const unanswered = { status: 'rejected', reason: 'no answer was given' } as const
