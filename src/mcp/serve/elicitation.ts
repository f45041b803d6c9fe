import type { InteractionKind, InteractionResponse } from '../../core/interaction.ts'
import { isRecord } from '../../core/is-record.ts'
import { fullyVisible } from '../../platform/visible-text.ts'

/** A question as a form with one field, `answer`. */
export interface Form {
  readonly message: string
  readonly requestedSchema: {
    readonly type: 'object'
    readonly properties: { readonly answer: Field }
    readonly required: ['answer']
  }
}

type Field = { readonly type: 'string'; readonly title: string; readonly enum?: string[] }

/** The kinds of interactions that may go over MCP. Passwords and trust decisions may not. */
export const askableKinds: readonly InteractionKind[] = ['Approve', 'grantStageTool', 'Confirm', 'Select', 'Ask']

/** The form for a question. Throws if the question is too long to be shown completely. */
export function formOf(kind: InteractionKind, payload: Payload): Form {
  const { description, prompt } = payload
  const said = typeof description === 'string' ? description : String(prompt ?? payload.toolId ?? kind)
  if (said.length > longest)
    throw new RangeError(`the question has ${said.length} characters, and a client is shown ${longest} at most`)
  return {
    message: fullyVisible(said, { lines: 'kept' }),
    requestedSchema: { type: 'object', properties: { answer: fieldOf(kind, payload) }, required: ['answer'] },
  }
}

/** The meaning of a client's answer to the form. Anything but a clear yes counts as no. */
export function answerIn(kind: InteractionKind, payload: Payload, result: unknown): InteractionResponse {
  const { action, content } = isRecord(result) ? result : {}
  const answer = isRecord(content) ? content.answer : undefined
  if (action !== 'accept' || typeof answer !== 'string')
    return { status: 'rejected', reason: action === 'cancel' ? 'the question was closed' : 'declined' }
  if (kind === 'Ask') return { status: 'accepted', value: answer }
  if (kind !== 'Select') return answer === yes ? accepted(kind) : { status: 'rejected', reason: 'declined' }
  const at = labelsOf(payload).indexOf(answer)
  if (at < 0) return { status: 'rejected', reason: 'the answer was none of the options' }
  return { status: 'accepted', value: (payload.options as readonly unknown[])[at] }
}

type Payload = Readonly<Record<string, unknown>>

const longest = 64_000
const yes = 'once'

function accepted(kind: InteractionKind): InteractionResponse {
  return { status: 'accepted', value: kind === 'Confirm' ? true : { scope: 'once' } }
}

function fieldOf(kind: InteractionKind, payload: Payload): Field {
  if (kind === 'Ask') return { type: 'string', title: 'Your answer' }
  if (kind === 'Select') return { type: 'string', title: 'Choose one', enum: labelsOf(payload) }
  return {
    type: 'string',
    title: kind === 'Confirm' ? 'Yes (once), or no' : 'Allow it once, or not',
    enum: [yes, 'no'],
  }
}

/** Numbered, to tell options with the same text apart. */
function labelsOf({ options }: Payload): string[] {
  const list: readonly unknown[] = Array.isArray(options) ? options : []
  return list.map((option, i) => {
    const text = typeof option === 'string' ? option : (JSON.stringify(option) ?? 'nothing')
    return `${i + 1}. ${fullyVisible(text.slice(0, 200))}`
  })
}
