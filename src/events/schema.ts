import type { ApprovalScope, Decision, ToolOrigin, Verdict } from '../core/authority.ts'
import type { EditDecision } from '../core/edit-outcomes.ts'
import type { Confinement, SandboxProfile } from '../core/execution.ts'
import type {
  CallOutcome,
  EntryBody,
  InputMode,
  LogEntry,
  ParentCall,
  RunFailure,
  RunStatus,
  WantedSignature,
} from '../core/log.ts'
import type { StopReason } from '../core/provider.ts'
import type { OpenReply } from '../core/run.ts'
import type { JsonSchema, ReplayClass } from '../core/tool.ts'
import type {
  DocumentBlock,
  ImageBlock,
  SessionContentBlock,
  SessionTurn,
  TextBlock,
  ThinkingBlock,
  ToolCallBlock,
  ToolResultBlock,
  TurnUsage,
} from '../core/turn.ts'
import type { GapEvent, InboxEvent } from './event-queue.ts'
import { type ChildEvent, type DurableEvent, eventVersion, type Provisional, type ProvisionalEvent } from './events.ts'
import type { SnapshotEvent } from './live-feed.ts'

type Absent = Record<never, never>
type OptionalKey<T> = { [Key in keyof T]-?: Absent extends Pick<T, Key> ? Key : never }[keyof T]
type Fields<Keys extends PropertyKey> = { [Key in Keys]: JsonSchema }

/** The compiler checks that a shape has exactly the fields of its type, and which of them are optional. */
function object<T extends object>(
  required: Fields<Exclude<keyof T, OptionalKey<T>>>,
  ...[optional]: [OptionalKey<T>] extends [never] ? [] : [Fields<OptionalKey<T>>]
): JsonSchema {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) }
}

const oneOf = <Word extends string>(words: Record<Word, true>): JsonSchema => ({ enum: Object.keys(words) })
const only = (value: string | boolean): JsonSchema => ({ const: value })
const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items })
const ref = (name: string): JsonSchema => ({ $ref: `#/$defs/${name}` })
const anyOf = (names: readonly string[]): JsonSchema => ({ anyOf: names.map(ref) })

const anything: JsonSchema = {}
const text: JsonSchema = { type: 'string' }
const number: JsonSchema = { type: 'number' }
const count: JsonSchema = { type: 'number', minimum: 0 }
const index: JsonSchema = { type: 'integer', minimum: 0 }
const ordinal: JsonSchema = { type: 'integer', minimum: 1 }
const record: JsonSchema = { type: 'object' }
const blocks = listOf(ref('block'))
const layers = oneOf<ToolOrigin['layer']>({
  host: true,
  bundled: true,
  global: true,
  project: true,
  mcp: true,
  plugin: true,
})

type BodyOf<Type extends EntryBody['type']> = Omit<Extract<EntryBody, { type: Type }>, 'type'>

const entryFields: { [Type in EntryBody['type']]: JsonSchema } = {
  run_started: object<BodyOf<'run_started'>>(
    { runId: text, model: text },
    { agent: text, parent: ref('parent'), meta: record, processId: text, unconfined: text, trace: text },
  ),
  details: object<BodyOf<'details'>>({}, { title: text, tags: listOf(text), tenant: text, kind: text, folder: text }),
  input: object<BodyOf<'input'>>(
    { mode: ref('mode'), clientKey: text, content: blocks },
    { callId: text, meta: record },
  ),
  withdrawn: object<BodyOf<'withdrawn'>>({ input: text }),
  attempt: object<BodyOf<'attempt'>>({ runId: text, turnId: text, attempt: ordinal }),
  turn: object<BodyOf<'turn'>>({ turn: ref('turn') }, { stop: ref('stop'), consumed: listOf(text), clientKey: text }),
  call_started: object<BodyOf<'call_started'>>(
    {
      callId: text,
      key: text,
      attempt: ordinal,
      replay: oneOf<ReplayClass>({ pure: true, keyed: true, opaque: true }),
    },
    { origin: ref('origin') },
  ),
  call_result: object<BodyOf<'call_result'>>(
    { callId: text, output: ref('output'), outcome: ref('outcome') },
    { isError: only(true), details: anything },
  ),
  approval_requested: object<BodyOf<'approval_requested'>>(
    { callId: text, digest: text },
    {
      reason: text,
      request: anything,
      signature: object<WantedSignature>({}, { keyId: text }),
      origin: ref('origin'),
      call: object<{ name: string; input: unknown }>({ name: text, input: anything }),
    },
  ),
  approval_answered: object<BodyOf<'approval_answered'>>(
    { callId: text, digest: text, decision: oneOf({ allow: true, deny: true, expired: true }), by: text },
    {
      scope: oneOf<ApprovalScope>({ once: true, session: true, project: true }),
      where: only('outside'),
      edits: listOf(ref('edit')),
      rule: text,
      mac: text,
      note: blocks,
      clientKey: text,
      meta: record,
    },
  ),
  usage: object<BodyOf<'usage'>>({ runId: text, cause: text, usage: ref('usage') }),
  state: object<BodyOf<'state'>>({ owner: text, value: anything }),
  compaction: object<BodyOf<'compaction'>>({ toSeq: index, summary: blocks }),
  context_edit: object<BodyOf<'context_edit'>>(
    { turnId: text, block: index },
    { replacement: ref('block'), provider: text },
  ),
  rewind: object<BodyOf<'rewind'>>({ toSeq: index }),
  checkpoint: object<BodyOf<'checkpoint'>>({ from: index, state: anything }),
  label: object<BodyOf<'label'>>({ text }),
  parked: object<BodyOf<'parked'>>({ reason: text }),
  unparked: object<BodyOf<'unparked'>>({}),
  run_ended: object<BodyOf<'run_ended'>>(
    { runId: text, status: ref('status'), stop: text },
    { stoppedAt: index, dropsTo: index, error: ref('failure'), output: anything, sharedCrash: ordinal },
  ),
}

type ShownOf<Type extends Provisional['type']> = Omit<Extract<Provisional, { type: Type }>, 'type'>

const provisionalFields: { [Type in Provisional['type']]: JsonSchema } = {
  turn_started: object<ShownOf<'turn_started'>>({ turnId: text, step: ordinal }),
  stream_started: object<ShownOf<'stream_started'>>({ turnId: text, attempt: ordinal }),
  stream_void: object<ShownOf<'stream_void'>>({ turnId: text, attempt: ordinal, reason: text }, { delayMs: index }),
  text: object<ShownOf<'text'>>({ turnId: text, attempt: ordinal, delta: text }),
  thinking: object<ShownOf<'thinking'>>({ turnId: text, attempt: ordinal, delta: text }),
  tool_start: object<ShownOf<'tool_start'>>(
    { turnId: text, callId: text, name: text, displayName: text },
    { origin: ref('origin') },
  ),
  call_decided: object<ShownOf<'call_decided'>>(
    { turnId: text, callId: text, name: text, decision: ref('decision') },
    { origin: ref('origin'), approver: text, parentCallId: text },
  ),
  tool_args: object<ShownOf<'tool_args'>>({ turnId: text, callId: text, delta: text }),
  tool_end: object<ShownOf<'tool_end'>>({ turnId: text, callId: text }),
  tool_progress: object<ShownOf<'tool_progress'>>({ turnId: text, callId: text, text }),
  turn_failed: object<ShownOf<'turn_failed'>>(
    { turnId: text, stop: oneOf({ error: true, aborted: true }), error: text },
    { partial: text },
  ),
}

const blockFields: { [Type in SessionContentBlock['type']]: JsonSchema } = {
  text: object<Omit<TextBlock, 'type'>>({ text }, { providerData: record }),
  image: object<Omit<ImageBlock, 'type'>>({ mediaType: text, data: text }),
  document: object<Omit<DocumentBlock, 'type'>>({ mediaType: text, data: text }, { name: text }),
  thinking: object<Omit<ThinkingBlock, 'type'>>({ text }, { signature: text, providerData: record }),
  tool_call: object<Omit<ToolCallBlock, 'type'>>(
    { id: text, name: text, input: record },
    { raw: text, unreadable: text, providerData: record },
  ),
  tool_result: object<Omit<ToolResultBlock, 'type'>>(
    { callId: text, output: ref('output') },
    { isError: { type: 'boolean' } },
  ),
}

const stamp: Fields<Exclude<keyof LogEntry, 'type'>> = { seq: ordinal, id: text, at: number }
const moment: Fields<Exclude<keyof ProvisionalEvent, 'type' | 'turnId'>> = {
  durable: only(false),
  after: index,
  n: ordinal,
}

/** The schemas of a union, each named `prefix_type`, with the shared fields first. */
function union(prefix: string, shared: Record<string, JsonSchema>, members: Record<string, JsonSchema>) {
  const defs = Object.entries(members).map(([type, { properties, required }]) => {
    const all = { ...shared, type: only(type), ...(properties as object) }
    return [`${prefix}_${type}`, { type: 'object', properties: all, required: requiredOf(shared, required) }] as const
  })
  return { names: defs.map(([name]) => name), defs: Object.fromEntries(defs) }
}

const requiredOf = (shared: Record<string, JsonSchema>, required: unknown): string[] => [
  ...Object.keys(shared),
  'type',
  ...(required as string[]),
]

const entries = union('entry', stamp, entryFields)
const provisional = union('provisional', moment, provisionalFields)
const content = union('block', {}, blockFields)

/**
 * The shape of an `AgentEvent` and of a `SessionEvent`, as JSON Schema (draft 2020-12). Fields that it does not name are allowed, and so are
 * entries of types that it does not know: a later version may add both.
 */
export const eventSchema: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: `urn:libero:event:${eventVersion}`,
  title: 'Libero event',
  anyOf: ['durable', 'provisional', 'child', 'snapshot', 'gap', 'inbox'].map(ref),
  $defs: {
    durable: object<DurableEvent>({ durable: only(true), seq: ordinal, entry: ref('entry') }),
    provisional: anyOf(provisional.names),
    child: object<ChildEvent>({
      durable: only(false),
      type: only('child'),
      child: object<ChildEvent['child']>({ id: text, depth: ordinal }),
      event: { anyOf: [ref('durable'), ref('provisional')] },
    }),
    snapshot: object<SnapshotEvent>({
      durable: only(false),
      type: only('snapshot'),
      after: index,
      reply: object<OpenReply>({
        turnId: text,
        attempt: ordinal,
        text,
        thinking: text,
        calls: listOf(object<OpenReply['calls'][number]>({ callId: text, name: text, args: text })),
      }),
    }),
    gap: object<GapEvent>({ durable: only(false), type: only('gap'), after: index, lost: ordinal }),
    inbox: object<InboxEvent>({
      durable: only(false),
      type: only('inbox'),
      after: index,
      message: object<InboxEvent['message']>({ clientKey: text, mode: ref('mode'), content: blocks }, { meta: record }),
    }),
    ...provisional.defs,

    entry: anyOf([...entries.names, 'entry_of_a_later_version']),
    ...entries.defs,
    entry_of_a_later_version: {
      type: 'object',
      properties: { ...stamp, type: { type: 'string', not: { enum: Object.keys(entryFields) } } },
      required: [...Object.keys(stamp), 'type'],
    },

    turn: object<SessionTurn>(
      { id: text, runId: text, role: oneOf({ user: true, assistant: true }), content: blocks, createdAt: number },
      { interrupted: only(true), usage: ref('usage'), model: text, provider: text, meta: record },
    ),
    block: anyOf(content.names),
    ...content.defs,
    output: { anyOf: [text, listOf(anyOf(['block_text', 'block_image']))] },
    usage: object<TurnUsage>(
      { input: count, output: count },
      { reasoning: count, cacheRead: count, cacheCreation: count, cost: count, model: text, estimated: only(true) },
    ),
    failure: object<RunFailure>({ name: text, message: text }, { providerCode: text, retryable: { type: 'boolean' } }),
    origin: object<ToolOrigin>(
      { layer: layers },
      { path: text, digest: text, isChanged: { type: 'boolean' }, replaces: listOf(layers) },
    ),
    decision: object<Decision>(
      { verdict: oneOf<Verdict>({ allow: true, ask: true, deny: true }), by: text, why: text },
      {
        rule: text,
        code: text,
        confinement: { anyOf: [ref('confinement'), only('outside')] },
        edits: listOf(ref('edit')),
      },
    ),
    edit: object<EditDecision>({ decision: oneOf({ allow: true, deny: true }) }, { note: text }),
    confinement: object<Confinement>({
      profile: oneOf<SandboxProfile>({ 'read-only': true, 'workspace-write': true }),
      reads: listOf(text),
      writes: listOf(text),
      hidden: listOf(text),
      hosts: { anyOf: [listOf(text), only('any')] },
      home: oneOf<Confinement['home']>({ empty: true, readable: true }),
    }),
    parent: object<ParentCall>({ runId: text, callId: text }, { session: text }),
    mode: oneOf<InputMode>({ prompt: true, steer: true, followUp: true, answer: true, stop: true }),
    stop: oneOf<StopReason>({ end: true, tool_use: true, length: true, refusal: true, other: true }),
    status: oneOf<RunStatus>({ completed: true, aborted: true, error: true, suspended: true, left: true }),
    outcome: oneOf<CallOutcome>({
      done: true,
      error: true,
      timeout: true,
      substituted: true,
      blocked: true,
      unknown_tool: true,
      invalid: true,
      aborted: true,
      skipped: true,
      cancelled: true,
      unknown: true,
    }),
  },
}
