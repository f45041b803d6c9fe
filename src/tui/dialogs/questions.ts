import type { InteractionResponse } from '../../core/interaction.ts'
import { isRecord } from '../../core/is-record.ts'
import { fullyVisible, visibleName, visibleText } from '../../platform/visible-text.ts'
import { readLine } from '../input/read-line.ts'
import { boxed } from './boxed.ts'
import { type Choice, choose, chooseFromList } from './choices.ts'
import { type DialogContext, runDialog } from './dialog.ts'

type Payload = Readonly<Record<string, unknown>>

/** Asks for an answer in words. */
export async function ask(payload: Payload, context: DialogContext): Promise<InteractionResponse> {
  showQuestion(headingOf(payload), payload.prompt, context)
  const { terminal, keyboard, ...rest } = context
  const value = await readLine(terminal, keyboard, rest)
  showAnswer(value ?? '(no answer)', context)
  return value === undefined ? unanswered : { status: 'accepted', value }
}

/** Asks for a secret, which never appears on the screen. */
export async function password(payload: Payload, context: DialogContext): Promise<InteractionResponse> {
  showQuestion('A tool asks for a password. It gets what you type:', payload.prompt, context)
  const { terminal, keyboard, ...rest } = context
  const value = await readLine(terminal, keyboard, { ...rest, prompt: 'password: ', isSecret: true })
  showAnswer(value === undefined ? '(no answer)' : '(given, not shown)', context)
  return value === undefined ? unanswered : { status: 'accepted', value }
}

/** Asks for yes or no; a no may come with a reason. */
export async function confirm(payload: Payload, context: DialogContext): Promise<InteractionResponse> {
  showQuestion(headingOf(payload), payload.prompt, context)
  return await chooseYesOrNo(context)
}

async function chooseYesOrNo(context: DialogContext): Promise<InteractionResponse> {
  const choices: Choice<'yes' | 'no' | 'reason'>[] = [
    { key: 'y', label: 'yes', value: 'yes' },
    { key: 'n', label: 'no', value: 'no' },
    { key: 'r', label: 'no, and say why', value: 'reason' },
  ]
  const verdict = await choose({ choices, initial: 'no' }, context)
  const reason = verdict === 'reason' ? await readReason(context) : ''
  if (reason === undefined) return await chooseYesOrNo({ ...context, ignoreKeysMs: 0 })
  showAnswer(verdict === 'yes' ? 'yes' : `no${reason === '' ? '' : `, because: ${reason}`}`, context)
  return verdict === 'yes' ? { status: 'accepted', value: true } : { status: 'rejected', reason: reason.trim() }
}

/** Why the person says no; `undefined` when they go back to the choices. */
export function readReason({
  terminal,
  keyboard,
  ignoreKeysMs: _,
  ...rest
}: DialogContext): Promise<string | undefined> {
  return readLine(terminal, keyboard, { ...rest, prompt: 'No, because: ', escapeLabel: 'back' })
}

/** Asks for one or several of the options, or for free text where the question allows it. */
export async function select(payload: Payload, context: DialogContext): Promise<InteractionResponse> {
  showQuestion(headingOf(payload), payload.prompt, context)
  return await chooseOptions(payload, context)
}

async function chooseOptions(payload: Payload, context: DialogContext): Promise<InteractionResponse> {
  const options = Array.isArray(payload.options) ? payload.options : []
  const isMultiple = payload.multiSelect === true
  const labels = options.map(labelOf)
  const items = payload.allowFreeform === true ? [...labels, 'something else, in your own words'] : labels
  const { terminal, keyboard, ignoreKeysMs: _, ...rest } = context
  const chosen = items.length === 0 ? undefined : await chooseFromList({ items, isMultiple }, context)
  if (chosen?.includes(options.length)) {
    const value = await readLine(terminal, keyboard, { ...rest, escapeLabel: 'back' })
    if (value === undefined) return await chooseOptions(payload, { ...context, ignoreKeysMs: 0 })
    const listed = chosen.filter((i) => i < options.length)
    showAnswer([...listed.map((i) => labels[i]), value].join(', '), context)
    return { status: 'accepted', value: isMultiple ? [...listed.map((i) => options[i]), value] : value }
  }
  if (!chosen) {
    showAnswer('(no answer)', context)
    return unanswered
  }
  showAnswer(chosen.map((i) => labels[i]).join(', ') || '(none)', context)
  return { status: 'accepted', value: isMultiple ? chosen.map((i) => options[i]) : options[chosen[0]!] }
}

function labelOf(option: unknown): string {
  if (!isRecord(option)) return visibleName(typeof option === 'string' ? option : (JSON.stringify(option) ?? ''))
  const { label, description } = option
  if (typeof label !== 'string') return visibleName(JSON.stringify(option))
  return visibleName(typeof description === 'string' ? `${label}: ${description}` : label)
}

/** Shows an address and a code to enter there, and waits until the person has done so. */
export async function deviceCode(payload: Payload, context: DialogContext): Promise<InteractionResponse> {
  const { terminal } = context
  const { paint } = terminal
  const [url, code] = [fullyVisible(String(payload.url)), fullyVisible(String(payload.code))]
  const heading = paint.bold(paint.cyan('? Sign in: open'))
  // Neither boxed nor wrapped: the person copies or clicks it.
  terminal.line(['', heading, `  ${url}`, '  and enter the code', `  ${paint.bold(code)}`].join('\n'))
  const isDone = await runDialog<boolean>(
    {
      draw: () => ['  Waiting for you there.'],
      hint: () => 'Enter: done; Esc: cancel',
      press(key) {
        if (key.type === 'enter') return { value: true }
        return key.type === 'escape' ? { value: false } : undefined
      },
    },
    context,
  )
  showAnswer(isDone ? 'done' : 'cancelled', context)
  return isDone ? { status: 'accepted', value: true } : unanswered
}

/** Prints a question. The heading is our own text; the box marks the text that others wrote. */
function showQuestion(heading: string, text: unknown, { terminal }: DialogContext): void {
  const { paint } = terminal
  const lines = visibleText(String(text)).replaceAll('\r\n', '\n').trimEnd().split('\n')
  terminal.line(['', paint.bold(paint.cyan(`? ${heading}`)), ...boxed(lines, terminal)].join('\n'))
}

/** A question of the model has an id, by which it can be answered later. */
const headingOf = ({ questionId }: Payload): string => (questionId === undefined ? 'A question:' : 'The agent asks:')

function showAnswer(text: string, { terminal }: DialogContext): void {
  const [first = '', ...more] = visibleText(text).split('\n')
  terminal.line([`${terminal.paint.cyan('›')} ${first}`, ...more.map((line) => `  ${line}`)].join('\n'))
}

const unanswered = { status: 'rejected', reason: 'no answer was given' } as const
