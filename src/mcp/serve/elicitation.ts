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

/** What may be asked over MCP. Never a password, which a client must not be asked for, nor whom to trust. */
export const askableKinds: readonly InteractionKind[] = ['Approve', 'grantStageTool', 'Confirm', 'Select', 'Ask']

/** The form for a question. Throws where it could not be shown as a whole: nobody approves what he cannot read. */
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

/** What a client's answer to the form means. Whatever is not clearly a yes is a no. */
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

/** Numbered, so that two options that look the same are two. */
function labelsOf({ options }: Payload): string[] {
  const list: readonly unknown[] = Array.isArray(options) ? options : []
  return list.map((option, i) => {
    const text = typeof option === 'string' ? option : (JSON.stringify(option) ?? 'nothing')
    return `${i + 1}. ${fullyVisible(text.slice(0, 200))}`
  })
}
