import type { InteractionResponse } from '../../../core/interaction.ts'
import { fullyVisible, visibleText } from '../../../platform/visible-text.ts'
import { readLine } from '../read-line.ts'
import { boxed } from './boxed.ts'
import { type DialogContext, runDialog } from './dialog.ts'

/** Asks for an answer in words. */
export async function ask(
  payload: Readonly<Record<string, unknown>>,
  context: DialogContext,
): Promise<InteractionResponse> {
  showQuestion(questionHeading(payload), payload.prompt, context)
  const { terminal, keyboard, ...rest } = context
  const value = await readLine(terminal, keyboard, rest)
  showAnswer(value ?? '(no answer)', context)
  return value === undefined ? unanswered : { status: 'accepted', value }
}

/** Shows a question for good, with who asks it in words of our own: what stands behind the margin is somebody else's. */
export function showQuestion(who: string, text: unknown, { terminal }: Pick<DialogContext, 'terminal'>): void {
  const { paint } = terminal
  const lines = visibleText(String(text)).replaceAll('\r\n', '\n').trimEnd().split('\n')
  terminal.line(['', paint.bold(paint.cyan(`? ${who}`)), ...boxed(lines, terminal)].join('\n'))
}

/** A question of the model's has an id by which it may be answered later. */
export const questionHeading = ({ questionId }: Readonly<Record<string, unknown>>): string =>
  questionId === undefined ? 'A question:' : 'The agent asks:'

/** Shows what was answered, for good. */
export function showAnswer(text: string, { terminal }: Pick<DialogContext, 'terminal'>): void {
  const [first = '', ...more] = visibleText(text).split('\n')
  terminal.line([`${terminal.paint.cyan('›')} ${first}`, ...more.map((line) => `  ${line}`)].join('\n'))
}

/** What somebody gets who asked and was not answered. */
export const unanswered = { status: 'rejected', reason: 'no answer was given' } as const

/** Asks for a secret, which never appears on the screen. */
export async function password(
  payload: Readonly<Record<string, unknown>>,
  context: DialogContext,
): Promise<InteractionResponse> {
  showQuestion('A tool asks for a password. It gets what you type:', payload.prompt, context)
  const { terminal, keyboard, ...rest } = context
  const value = await readLine(terminal, keyboard, { ...rest, prompt: 'password: ', isSecret: true })
  showAnswer(value === undefined ? '(no answer)' : '(given, not shown)', context)
  return value === undefined ? unanswered : { status: 'accepted', value }
}

/** Shows where to enter a code, and waits until that is done. */
export async function deviceCode(
  payload: Readonly<Record<string, unknown>>,
  context: DialogContext,
): Promise<InteractionResponse> {
  const { terminal } = context
  const { paint } = terminal
  const [url, code] = [fullyVisible(String(payload.url)), fullyVisible(String(payload.code))]
  // Not in a box, nor wrapped: it is there to be copied or clicked.
  terminal.line(
    ['', paint.bold(paint.cyan('? Sign in: open')), `  ${url}`, '  and enter the code', `  ${paint.bold(code)}`].join(
      '\n',
    ),
  )
  const isDone = await runDialog<boolean>(
    {
      draw: () => ['  Waiting for you there.'],
      hint: () => 'Enter: done there; Esc: leave it',
      press(key) {
        if (key.type === 'enter') return { value: true }
        return key.type === 'escape' ? { value: false } : undefined
      },
    },
    context,
  )
  showAnswer(isDone ? 'done' : 'left', context)
  return isDone ? { status: 'accepted', value: true } : unanswered
}
