import { isRecord } from './is-record.ts'
import { didYouMean } from './nearest.ts'
import { parseSchema, type Schema } from './schema.ts'
import { checkTypeNames } from './schema-types.ts'
import { cutText } from './text.ts'

/** How an agent behaves. Each field is taken from the run, else the agent, else the default. */
export interface Behavior<OutputSchema extends Schema = Schema> {
  readonly maxTurns?: number
  readonly maxTokens?: number
  readonly maxConcurrentTools?: number
  readonly thinkingBudget?: number
  readonly thinkingDecay?: ThinkingDecay
  readonly cache?: boolean
  readonly toolOutputBudget?: number
  readonly toolBudgets?: Readonly<Record<string, ToolBudget>>
  readonly dedupReads?: boolean
  readonly dedupTools?: Readonly<Record<string, (input: Readonly<Record<string, unknown>>) => unknown>>
  readonly requireReadBeforeEdit?: boolean
  readonly readLineNumbers?: boolean
  readonly elideStaleReads?: boolean
  readonly compactStrategy?: 'off' | 'tail' | 'summary'
  readonly compactThreshold?: number
  readonly compactKeepTurns?: number
  readonly toolDisclosure?: 'eager' | 'lazy'
  readonly toolSearch?: { readonly tool?: boolean; readonly limit?: number }
  readonly persistThreshold?: number
  readonly persistDir?: string
  readonly persistExcludeTools?: readonly string[]
  /** The schema of the final answer: of zod, valibot or arktype, or a JSON Schema. */
  readonly schema?: OutputSchema
  readonly limits?: Limits
}

/** Upper bounds for a run, its children included. */
export interface Limits {
  /** Dollars. */
  readonly cost?: number
  /** Input and output, cached input included. */
  readonly tokens?: number
  /** Model calls. */
  readonly turns?: number
  readonly timeMs?: number
  readonly toolCalls?: number
  /** Since when usage counts: the last prompt, or the beginning of the session. Default `prompt`. */
  readonly since?: 'prompt' | 'session'
  /** The fraction of a limit at which the model is warned. Default 0.8. */
  readonly warnAt?: number
  /**
   * With `schema`: the fraction of `cost` and `tokens` that is reserved for the final answer, and one of `turns`. Default
   * 0.2; more if the conversation is so long that an answer costs more. 0 reserves nothing.
   */
  readonly reserve?: number
  /** With a limit on `cost`: continue if the price of a model is not known. Default false. */
  readonly allowUnknownPrice?: boolean
}

export type ThinkingDecay =
  | { readonly afterTurn: number; readonly factor: number; readonly floor: number }
  | ((turn: number, base: number) => number)

export interface ToolBudget {
  readonly max: number
  readonly onExceed: 'block' | 'steer' | ((ctx: ExceededBudget) => { mode: 'block' | 'steer'; message: string })
}

export interface ExceededBudget {
  readonly tool: string
  readonly count: number
  readonly max: number
}

type Defaulted =
  | 'maxTurns'
  | 'maxTokens'
  | 'maxConcurrentTools'
  | 'cache'
  | 'dedupReads'
  | 'requireReadBeforeEdit'
  | 'readLineNumbers'
  | 'elideStaleReads'
  | 'compactStrategy'
  | 'compactThreshold'
  | 'compactKeepTurns'
  | 'toolDisclosure'
  | 'persistExcludeTools'

export type ResolvedBehavior = Behavior & Required<Pick<Behavior, Defaulted>>

export const defaultBehavior = {
  maxTurns: Number.POSITIVE_INFINITY,
  maxTokens: 16_384,
  maxConcurrentTools: 10,
  cache: true,
  dedupReads: true,
  requireReadBeforeEdit: false,
  readLineNumbers: true,
  elideStaleReads: false,
  compactStrategy: 'off',
  compactThreshold: 131_072,
  compactKeepTurns: 4,
  toolDisclosure: 'eager',
  persistExcludeTools: [],
} satisfies ResolvedBehavior

/** Each field is taken from the last layer that defines it. */
export function resolveBehavior(...layers: (Behavior | undefined)[]): ResolvedBehavior {
  const given = layers.flatMap((layer) => Object.entries(layer ?? {})).filter(([, value]) => value !== undefined)
  return Object.assign<ResolvedBehavior, Behavior>({ ...defaultBehavior }, Object.fromEntries(given))
}

/** Throws on an unknown field or an invalid value; the message says what would be valid. */
export function checkBehavior(behavior: unknown, where: string): void {
  if (behavior === undefined) return
  if (!isRecord(behavior)) throw new TypeError(`${where} must be an object, got ${show(behavior)}`)
  for (const [field, value] of Object.entries(behavior)) {
    if (!Object.hasOwn(fields, field))
      throw new TypeError(`${where}.${field} does not exist${didYouMean(field, Object.keys(fields))}`)
    const [isRight, wanted] = fields[field as keyof Behavior]
    if (value !== undefined && !isRight(value))
      throw new TypeError(`${where}.${field} must be ${wanted}, got ${show(value)}`)
  }
  if (behavior.schema === undefined) return
  const schema = `${where}.schema`
  checkTypeNames(parseSchema(behavior.schema, schema).jsonSchema, schema)
}

export const isBehavior = (name: string): boolean => Object.hasOwn(fields, name)

type Rule = readonly [isRight: (value: unknown) => boolean, wanted: string]

const isFunction = (value: unknown): boolean => typeof value === 'function'
const atLeast = (least: number): Rule => [
  (value) => value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && (value as number) >= least),
  `a whole number of at least ${least}`,
]
const flag: Rule = [(value) => typeof value === 'boolean', 'true or false']
const oneOf = (...words: string[]): Rule => [
  (value) => words.includes(value as string),
  words.map((word) => `"${word}"`).join(' or '),
]

const isDecay = (value: unknown): boolean =>
  isFunction(value) ||
  (isRecord(value) && [value.afterTurn, value.factor, value.floor].every((part) => Number.isFinite(part)))

const isBudget = (value: unknown): boolean =>
  isRecord(value) &&
  Number.isInteger(value.max) &&
  (value.max as number) >= 0 &&
  (value.onExceed === 'block' || value.onExceed === 'steer' || isFunction(value.onExceed))

const isLimits = (value: unknown): boolean =>
  isRecord(value) &&
  Object.entries(value).every(([name, limit]) => {
    if (limit === undefined) return true
    if (name === 'since') return limit === 'prompt' || limit === 'session'
    if (name === 'allowUnknownPrice') return typeof limit === 'boolean'
    if (name === 'warnAt') return typeof limit === 'number' && limit > 0 && limit <= 1
    if (name === 'reserve') return typeof limit === 'number' && limit >= 0 && limit < 1
    const isKnown = ['cost', 'tokens', 'turns', 'timeMs', 'toolCalls'].includes(name)
    return isKnown && typeof limit === 'number' && limit >= 0
  })

const isToolSearch = (value: unknown): boolean =>
  isRecord(value) &&
  Object.entries(value).every(([name, setting]) => {
    if (setting === undefined) return true
    if (name === 'tool') return typeof setting === 'boolean'
    return name === 'limit' && Number.isInteger(setting) && (setting as number) >= 1
  })

const fields: Record<keyof Behavior, Rule> = {
  maxTurns: atLeast(1),
  maxTokens: atLeast(1),
  maxConcurrentTools: atLeast(1),
  thinkingBudget: atLeast(0),
  thinkingDecay: [isDecay, '{ afterTurn, factor, floor } with numbers, or a function (turn, base) => number'],
  cache: flag,
  toolOutputBudget: atLeast(0),
  toolBudgets: [
    (value) => isRecord(value) && Object.values(value).every(isBudget),
    'a record of tool name → { max: whole number, onExceed: "block" | "steer" | function }',
  ],
  dedupReads: flag,
  dedupTools: [
    (value) => isRecord(value) && Object.values(value).every(isFunction),
    'a record of tool name → function (input) => key',
  ],
  requireReadBeforeEdit: flag,
  readLineNumbers: flag,
  elideStaleReads: flag,
  compactStrategy: oneOf('off', 'tail', 'summary'),
  compactThreshold: atLeast(0),
  compactKeepTurns: atLeast(0),
  toolDisclosure: oneOf('eager', 'lazy'),
  toolSearch: [isToolSearch, 'an object { tool?: true or false, limit?: whole number of at least 1 }'],
  persistThreshold: atLeast(0),
  persistDir: [(value) => typeof value === 'string' && value !== '', 'the path of a folder'],
  persistExcludeTools: [
    (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
    'a list of tool names',
  ],
  schema: [(value) => isRecord(value) || isFunction(value), 'a schema of zod, valibot or arktype, or a JSON Schema'],
  limits: [
    isLimits,
    'an object of { cost?, tokens?, turns?, timeMs?, toolCalls? } with numbers of at least 0, and { since?: "prompt" | "session", warnAt?: 0 to 1, reserve?: 0 to less than 1, allowUnknownPrice?: boolean }',
  ],
}

/** A value as shown in error messages. */
export function show(value: unknown): string {
  if (typeof value === 'string') return `"${cutText(value, 60)}"`
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'object' && value !== null)
    return `an object with ${Object.keys(value).slice(0, 5).join(', ') || 'no keys'}`
  return String(value)
}
