import type { ElicitRequestFormParams, ElicitResult } from '@modelcontextprotocol/client'
import type { Interact, InteractionResponse } from '../core/interaction.ts'
import { isRecord } from '../core/is-record.ts'
import { cutText } from '../core/text.ts'
import { fullyVisible, visibleText } from '../platform/visible-text.ts'
import { refuseSecretAnswer, refuseSecretForm } from './secret-form.ts'

type Value = string | number | boolean | string[]

/**
 * Asks a person the fields of a server's form, one at a time. Any failure counts as no consent. Throws a
 * `SecretFormError` for a form that asks for a secret.
 */
export async function answerForm(
  server: string,
  params: ElicitRequestFormParams,
  interact: Interact,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const { message, requestedSchema } = params
  refuseSecretForm(params)
  const fields = Object.entries(requestedSchema.properties ?? {})
  if (fields.length > mostFields) return { action: 'decline' }
  const content: Record<string, Value> = Object.create(null)
  const head = `The MCP server "${server}" asks: ${shown(message)}`
  if (fields.length === 0) return agreed(await ask(interact, 'Confirm', { prompt: head }, signal), content)
  for (const [name, schema] of fields) {
    const field = fieldOf(name, schema as Schema)
    if (field.options.length > mostChoices) return { action: 'decline' }
    const isRequired = requestedSchema.required?.includes(name) === true
    for (let tries = 0; ; tries++) {
      if (tries === mostTries) return { action: 'decline' }
      const answer = await askField(interact, head, field, signal)
      if (answer.status !== 'accepted') return refusal(answer)
      const read = field.read(answer.value)
      refuseSecretAnswer(name, read)
      if (read !== undefined) content[name] = read
      if (read !== undefined || (!isRequired && isEmpty(answer.value))) break
    }
  }
  return { action: 'accept', content: { ...content } }
}

/** Shows a person the address of a page that a server wants opened. The page is not opened by us. */
export async function answerUrl(
  server: string,
  { message, url }: { readonly message: string; readonly url: string },
  interact: Interact,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const target = URL.parse(url)
  const isLocal = target?.hostname === 'localhost' || target?.hostname === '127.0.0.1'
  if (!target || !(target.protocol === 'https:' || (target.protocol === 'http:' && isLocal)))
    return { action: 'decline' }
  const prompt = `The MCP server "${server}" asks you to open a page at ${target.host}: ${shown(message)}\n${fullyVisible(target.href)}\nDid you open it, and do you want to go on?`
  return agreed(await ask(interact, 'Confirm', { prompt }, signal), undefined)
}

const mostFields = 20
const mostTries = 3
const mostChoices = 200

interface Schema {
  readonly type?: unknown
  readonly title?: unknown
  readonly description?: unknown
  readonly enum?: unknown
  readonly enumNames?: unknown
  readonly oneOf?: unknown
  readonly items?: unknown
  readonly default?: unknown
}

interface Field {
  readonly label: string
  /** The choices. */
  readonly options: readonly Choice[]
  readonly kind: 'text' | 'choice' | 'choices' | 'boolean'
  /** `undefined` for an invalid answer. */
  read(value: unknown): Value | undefined
}

interface Choice {
  readonly value: string
  readonly label: string
}

function fieldOf(name: string, schema: Schema): Field {
  const { type, title, description, default: preset } = schema
  const words = [
    typeof title === 'string' ? title : name,
    description,
    preset === undefined ? '' : `default: ${String(preset)}`,
  ]
  const label = words
    .filter((word) => typeof word === 'string' && word !== '')
    .map((word) => shown(word as string))
    .join(', ')
  const options = choicesOf(schema)
  const orDefault = (value: unknown, read: (value: unknown) => Value | undefined): Value | undefined =>
    isEmpty(value) && isValue(preset) ? preset : read(value)
  const field = { label, options }
  if (type === 'array')
    return { ...field, kind: 'choices', read: (value) => orDefault(value, (one) => manyOf(one, options)) }
  if (options.length > 0)
    return { ...field, kind: 'choice', read: (value) => orDefault(value, (one) => oneOf(one, options)) }
  if (type === 'boolean')
    return { ...field, kind: 'boolean', read: (value) => (typeof value === 'boolean' ? value : undefined) }
  if (type === 'number' || type === 'integer')
    return { ...field, kind: 'text', read: (value) => orDefault(value, (one) => numberOf(one, type)) }
  return {
    ...field,
    kind: 'text',
    read: (value) => orDefault(value, (one) => (isEmpty(one) ? undefined : String(one))),
  }
}

function choicesOf({ enum: values, enumNames, oneOf: titled, items }: Schema): Choice[] {
  if (Array.isArray(titled))
    return titled
      .filter(isRecord)
      .map(({ const: value, title }) => ({ value: String(value), label: String(title ?? value) }))
  if (Array.isArray(values))
    return values.map((value, i) => ({
      value: String(value),
      label: String((Array.isArray(enumNames) && enumNames[i]) || value),
    }))
  if (!isRecord(items)) return []
  return choicesOf({ enum: items.enum, oneOf: items.anyOf ?? items.oneOf })
}

async function askField(
  interact: Interact,
  head: string,
  field: Field,
  signal: AbortSignal,
): Promise<InteractionResponse> {
  const prompt = `${head}\n${field.label}`
  const options = field.options.map(({ label }) => shown(label))
  if (field.kind === 'boolean')
    return ask(interact, 'Select', { prompt, options: ['yes', 'no'] }, signal).then(asBoolean)
  if (field.kind === 'choice') return ask(interact, 'Select', { prompt, options }, signal)
  if (field.kind === 'text' || options.length === 0) return ask(interact, 'Ask', { prompt }, signal)
  return ask(interact, 'Ask', { prompt: `${prompt}\nAny of: ${options.join(', ')} (with commas between them)` }, signal)
}

async function ask(
  interact: Interact,
  kind: string,
  payload: object,
  signal: AbortSignal,
): Promise<InteractionResponse> {
  return interact({ kind, payload: { kind, ...payload } }, signal)
}

const asBoolean = (answer: InteractionResponse): InteractionResponse =>
  answer.status === 'accepted' ? { ...answer, value: answer.value === 'yes' || answer.value === true } : answer

function agreed(answer: InteractionResponse, content: Record<string, Value> | undefined): ElicitResult {
  if (answer.status !== 'accepted') return refusal(answer)
  if (answer.value === false) return { action: 'decline' }
  return { action: 'accept', ...(content && { content: { ...content } }) }
}

const refusal = ({ status }: InteractionResponse): ElicitResult => ({
  action: status === 'rejected' ? 'decline' : 'cancel',
})

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === ''
const isValue = (value: unknown): value is Value =>
  ['string', 'number', 'boolean'].includes(typeof value) ||
  (Array.isArray(value) && value.every((one) => typeof one === 'string'))

function numberOf(value: unknown, type: string): number | undefined {
  const read = typeof value === 'number' ? value : Number(String(value).trim() || Number.NaN)
  return Number.isFinite(read) && (type === 'number' || Number.isInteger(read)) ? read : undefined
}

function oneOf(value: unknown, choices: readonly Choice[]): string | undefined {
  return choices.find((choice) => choice.value === value || shown(choice.label) === value)?.value
}

function manyOf(value: unknown, choices: readonly Choice[]): string[] | undefined {
  const asked = Array.isArray(value)
    ? value.map(String)
    : String(value ?? '')
        .split(',')
        .map((one) => one.trim())
  const read = asked
    .filter((one) => one !== '')
    .map((one) => oneOf(one, choices) ?? (choices.length === 0 ? one : undefined))
  return read.every((one) => one !== undefined) ? (read as string[]) : undefined
}

/** Text of the server for a person: visible and bounded. */
const shown = (text: string): string => visibleText(cutText(text, 2000))
