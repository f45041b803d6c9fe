import type { AuditSink, ToolOrigin } from '../core/authority.ts'
import type { CallTimer } from '../core/call-timer.ts'
import { CodedError } from '../core/errors.ts'
import type { Interact, InteractionRequest, InteractionResponse } from '../core/interaction.ts'
import type { Log } from '../core/log.ts'
import { isPlainJson } from '../core/plain-json.ts'
import type { Run } from '../core/run.ts'
import type { ToolContext } from '../core/tool.ts'
import { copyJson, textOf } from '../core/turn.ts'
import type { SchemaCheck } from '../platform/schema-check.ts'
import type { StateSlot, ToolConfig, ToolContract } from './contract.ts'

/** What a tool in a file may access. Frozen. During `init` and the other phases there is no session and no call. */
export interface ToolHost {
  readonly session: {
    readonly id: string | undefined
    readonly projectRoot: string
    readonly state: { read(): Promise<unknown>; write(value: unknown): Promise<void> }
  }
  /** The current call; `idempotencyKey` stays the same if it runs again after a crash. */
  readonly call: { readonly id: string; readonly idempotencyKey: string } | undefined
  readonly config: { readOwn(): ToolConfig }
  /** A variable declared in `configSchema['x-env']`; any other name throws `ExtensionHost/EnvNotDeclared`. */
  readonly env: { get(name: string): string | undefined }
  readonly audit: { write(event: string, details?: Readonly<Record<string, unknown>>): Promise<void> }
  /** The only way to ask a person. The time limit is paused meanwhile. */
  readonly interaction: { request(request: InteractionRequest): Promise<InteractionResponse> }
  /** Aborted when the turn is cancelled or the time limit is reached. */
  readonly cancel: { readonly tool: AbortSignal }
  readonly tools: { list(): readonly { readonly name: string; readonly description: string }[] }
  progress(text: string): void
}

/** Services shared by all tools in files. */
export interface HostServices {
  readonly projectRoot: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly interact?: Interact
  readonly audit?: AuditSink
  /** Aborted when trust in the project is revoked. */
  readonly revoked?: AbortSignal
}

/** The tool that a host belongs to. */
export interface HostedTool {
  readonly contract: ToolContract
  readonly origin: ToolOrigin
  readonly config: ToolConfig
  readonly stateCheck: SchemaCheck
}

/** What the tool is doing: a call of a run, or a lifecycle phase. */
export interface ToolActivity {
  readonly signal: AbortSignal
  readonly timer: CallTimer
  readonly isOver: boolean
  readonly during?: { readonly run: Run; readonly context: ToolContext }
}

/** Creates the host for one activity of one tool. */
export function createHost(tool: HostedTool, services: HostServices, activity: ToolActivity): ToolHost {
  const { contract, origin, config } = tool
  const { run, context } = activity.during ?? {}
  const declared: readonly string[] = contract.configSchema['x-env'] ?? []
  return deepFrozen({
    session: {
      id: run?.session?.id,
      projectRoot: services.projectRoot,
      state: stateSlot(tool, () => (activity.isOver ? undefined : run?.log)),
    },
    call: context && { id: context.callId, idempotencyKey: context.idempotencyKey },
    config: { readOwn: () => config },
    env: {
      get(name: string) {
        if (declared.includes(name)) return Object.hasOwn(services.env, name) ? services.env[name] : undefined
        throw new CodedError(
          'ExtensionHost/EnvNotDeclared',
          `${contract.name} may not read the variable "${name}"; name it in configSchema["x-env"]`,
        )
      },
    },
    audit: {
      async write(event: string, details = {}) {
        // The tool chooses the event name, so it must not look like one of ours.
        const about = { class: 'ToolInvocation', event: 'ToolNote', tool: contract.name, origin }
        const where = run && { ...(run.session && { sessionId: run.session.id }), runId: run.id }
        const callId = context && { callId: context.callId }
        await services.audit?.write({ ...about, ...where, ...callId, details: { ...details, event: String(event) } })
      },
    },
    interaction: { request: requester(contract.name, services, activity) },
    cancel: { tool: activity.signal },
    tools: { list: () => (run?.tools.specs ?? []).map(({ name, description }) => ({ name, description })) },
    progress: (text: string) => context?.progress(text),
  })
}

/** Kinds of questions for tools. Not permission and trust: a tool could imitate our own prompts. */
const forTools: ReadonlySet<string> = new Set(['Ask', 'Select', 'Confirm', 'Auth.DeviceCode', 'Auth.Password'])

function requester(name: string, services: HostServices, activity: ToolActivity): ToolHost['interaction']['request'] {
  const { context } = activity.during ?? {}
  const interact = context?.interact ?? services.interact
  let answer = context?.answer
  return async (asked) => {
    // Copied, so that what is checked is what is asked.
    const request = copyJson({ kind: asked.kind, payload: asked.payload })
    if (!forTools.has(request.kind))
      throw new CodedError(
        'ExtensionHost/InteractionKindUnknown',
        `a tool cannot ask for "${request.kind}"; it may ask for ${[...forTools].join(', ')}`,
      )
    if (activity.isOver)
      throw new CodedError('ExtensionHost/CallEnded', `${name} asks a question, but its call has ended`)
    // The answer to the question this call was suspended with; the tool asks it again.
    const known = answer && ({ status: 'accepted', value: textOf({ role: 'user', content: answer }) } as const)
    answer = undefined
    if (known) return known
    if (!interact)
      throw new CodedError('ExtensionHost/NoInteractorAttached', `${name} cannot ask: no interactor is attached`)
    return activity.timer.pausedFor(interact(request, activity.signal))
  }
}

function deepFrozen(host: ToolHost): ToolHost {
  for (const part of [host.session.state, ...Object.values(host)]) {
    if (typeof part === 'object' && part !== null) Object.freeze(part)
  }
  return Object.freeze(host)
}

/** The state of one tool in one session: stored in the log by name and layer, valid by its schema. */
function stateSlot(
  { contract, origin, stateCheck }: HostedTool,
  logNow: () => Log | undefined,
): ToolHost['session']['state'] {
  const { name } = contract
  const slot = slotOf(contract)
  const owner = `tool:${name}`
  const { layer } = origin

  function open(): { log: Log; slot: NonNullable<typeof slot> } {
    if (!slot) throw new CodedError('ExtensionHost/NoStateSlot', `${name} declares no stateSlot, so it keeps nothing`)
    const log = logNow()
    if (!log) throw new CodedError('ExtensionHost/NoSession', `${name} can use its state only while a call runs`)
    return { log, slot }
  }

  return {
    async read() {
      const { log, slot } = open()
      const kept = log.transcript.states.get(owner)
      // A tool of another layer with the same name does not get this state.
      if (!isKept(kept) || kept.layer !== layer) return undefined
      const isOld = kept.slotVersion !== slot.slotVersion
      const value: unknown = isOld ? slot.migrate?.(copyJson(kept.value), kept.slotVersion) : copyJson(kept.value)
      return value === undefined || stateCheck(value) !== undefined ? undefined : value
    },
    async write(value) {
      const { log, slot } = open()
      const { slotVersion } = slot
      const copy = isPlainJson({ value }) ? copyJson(value) : undefined
      const problem = copy === undefined ? 'it is no plain data' : stateCheck(copy)
      if (problem) throw new CodedError('Validation/StateInvalid', `the state of ${name} cannot be kept: ${problem}`)
      await log.append({ type: 'state', owner, value: { slotVersion, layer, value: copy } })
    },
  }
}

/** The declared state; undefined for a stateless tool. */
export const slotOf = ({ stateSlot }: ToolContract): StateSlot | undefined =>
  stateSlot === 'none' || stateSlot === null ? undefined : stateSlot

const isKept = (kept: unknown): kept is { slotVersion: string | number; layer: string; value: unknown } =>
  typeof kept === 'object' && kept !== null && 'slotVersion' in kept && 'layer' in kept && 'value' in kept
