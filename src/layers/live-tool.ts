import { CallTimer, TimeLimitError } from '../core/call-timer.ts'
import { Cancellation, waitCancelledMarker } from '../core/cancellation.ts'
import type { Clock } from '../core/clock.ts'
import { CodedError, type ErrorClass, messageOf } from '../core/errors.ts'
import { isRecord } from '../core/is-record.ts'
import type { Run } from '../core/run.ts'
import { defaultTimeoutMs, type ToolDef, type ToolResult } from '../core/tool.ts'
import { type CallContext, Suspended } from '../core/tool-context.ts'
import { copyJson } from '../core/turn.ts'
import type { SchemaCheck } from '../platform/schema-check.ts'
import type { ToolLifecycle } from './contract.ts'
import { createHost, type HostedTool, type HostServices, type ToolActivity } from './host.ts'
import { problemOf } from './problem-of.ts'

/** The time limit of a lifecycle phase, without the time people need to answer. */
const phaseLimitMs = 10_000

/** A tool from `init` to `dispose`. */
export class LiveTool {
  readonly hosted: HostedTool
  readonly #services: HostServices
  readonly #clock: Clock
  readonly #running = new Set<Promise<unknown>>()
  #isActive = false
  #ending: Promise<string[]> | undefined

  constructor(hosted: HostedTool, services: HostServices, clock: Clock) {
    this.hosted = hosted
    this.#services = services
    this.#clock = clock
  }

  /** Runs `init` and `activate`. Throws if the tool cannot be used. */
  async start(): Promise<void> {
    await this.#phase('init')
    await this.#phase('activate')
    this.#isActive = true
  }

  /** Refuses new calls, waits for running ones, then disposes. Returns the errors. May be called twice. */
  stop(): Promise<string[]> {
    this.#isActive = false
    this.#ending ??= this.#end()
    return this.#ending
  }

  async call(input: unknown, context: CallContext, run: Run): Promise<ToolResult> {
    const { contract, origin } = this.hosted
    const { name } = contract
    const revoked = origin.layer === 'project' ? this.#services.revoked : undefined
    if (revoked?.aborted) throw trustRevoked(name)
    if (!this.#isActive)
      throw new CodedError(
        'ToolTransient/ResourceBusy',
        `${name} is switched off or being reloaded; try something else`,
      )
    const limitMs = this.#limitOf(input)
    const timer = new CallTimer(run.clock, context.cancellation)
    const activity = { signal: context.signal, timer, isOver: false, during: { run, context } }
    const work = timer.wait(this.#execute(input, activity), limitMs, context)
    this.#running.add(work)
    const giveUp = (): void => context.cancel(trustRevoked(name))
    revoked?.addEventListener('abort', giveUp)
    try {
      return resultOf(await work, name)
    } catch (error) {
      // The pipeline recognises a timeout by this type.
      if (error instanceof TimeLimitError)
        throw new TimeLimitError(`ToolTransient/ExecutionTimeout: ${name} took longer than ${limitMs} ms`)
      throw revoked?.aborted ? trustRevoked(name) : failureOf(error)
    } finally {
      revoked?.removeEventListener('abort', giveUp)
      this.#running.delete(work)
      activity.isOver = true
      timer.close()
    }
  }

  async #execute(input: unknown, activity: ToolActivity): Promise<unknown> {
    return this.hosted.contract.execute(input, createHost(this.hosted, this.#services, activity), activity.signal)
  }

  /** The tool's limit for this call, else the configured one. */
  #limitOf(input: unknown): number {
    const { contract, config } = this.hosted
    const configured = config.timeoutMs ?? defaultTimeoutMs
    try {
      const own = contract.timeoutMs?.(copyJson(input))
      return own !== undefined && Number.isFinite(own) && own >= 1 ? own : configured
    } catch {
      return configured
    }
  }

  async #end(): Promise<string[]> {
    await Promise.allSettled(this.#running)
    const problems: string[] = []
    for (const phase of ['deactivate', 'dispose'] as const)
      await this.#phase(phase).catch((error) => problems.push(problemOf(error)))
    return problems
  }

  async #phase(name: keyof ToolLifecycle): Promise<void> {
    const { contract, config } = this.hosted
    const phase = contract.lifecycle[name]
    if (!phase) return
    const stop = new Cancellation()
    const timer = new CallTimer(this.#clock, stop)
    const activity = { signal: stop.signal, timer, isOver: false }
    const host = createHost(this.hosted, this.#services, activity)
    const work = async (): Promise<void> => phase(host, config)
    try {
      await timer.wait(work(), phaseLimitMs, { cancel: (reason) => stop.cancel(reason) })
    } catch (error) {
      const why = error instanceof Suspended ? 'it has to ask a person, and no person can be asked' : problemOf(error)
      throw new CodedError('ExtensionHost/LifecycleFailed', `${name} of ${contract.name} failed: ${why}`)
    } finally {
      activity.isOver = true
      timer.close()
    }
  }
}

function trustRevoked(name: string): CodedError {
  return new CodedError('Cancellation/TrustRevoked', `${name} was stopped: its project is not trusted any more`)
}

/** Converts a tool's answer to a result. Throws its failure; the value is not checked. */
function resultOf(answer: unknown, name: string): ToolResult {
  if (!isRecord(answer) || typeof answer.ok !== 'boolean')
    throw new CodedError(
      'ToolTerminal/OutputMalformed',
      `${name} must answer { ok: true, value } or { ok: false, error }`,
    )
  const { ok, value, error, errors } = answer
  if (!ok) throw coded(error) ?? new CodedError('ToolTerminal/ExecutionFailed', `${name} failed without saying why`)
  const isPartial = Array.isArray(errors) && errors.length > 0
  return shown(isPartial ? { value, errors } : value, name)
}

/** An error with class, code and message, and nothing else that the tool threw. */
function failureOf(error: unknown): unknown {
  // The pipeline handles these: a suspended call, and one that is no longer awaited.
  if (error instanceof CodedError || error instanceof Suspended || error === waitCancelledMarker) return error
  return coded(error) ?? new CodedError('ToolTerminal/ExecutionFailed', messageOf(error))
}

function coded(error: unknown): CodedError | undefined {
  if (!isRecord(error)) return undefined
  const { class: errorClass, code, message } = error
  if (typeof code !== 'string' || !/^\w{1,64}$/.test(code) || !classes.has(errorClass as ErrorClass)) return undefined
  return new CodedError(
    `${errorClass as ErrorClass}/${code}`,
    typeof message === 'string' ? message : 'it does not say why',
  )
}

const classes: ReadonlySet<ErrorClass> = new Set([
  'Validation',
  'ProviderTransient',
  'ProviderCapability',
  'ToolTransient',
  'ToolTerminal',
  'Session',
  'Cancellation',
  'ExtensionHost',
])

/** Wraps objects, so that a value is not mistaken for one of our result objects. */
function shown(value: unknown, name: string): ToolResult {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value as ToolResult
  try {
    return { output: JSON.stringify(value) }
  } catch (error) {
    throw new CodedError('ToolTerminal/OutputMalformed', `what ${name} gave cannot be shown: ${messageOf(error)}`)
  }
}

/** A tool in a file as a `ToolDef` of a run. */
export function boundTool(live: LiveTool, inputCheck: SchemaCheck, run: Run): ToolDef {
  const { contract, origin } = live.hosted
  const { name, description, inputSchema, outputSchema, gated, deriveApprovalKey } = contract
  const { effects, isConcurrencySafe, replay } = contract
  return {
    // The description is the only way to show the model the output schema.
    spec: {
      name,
      description: outputSchema
        ? `${description}\n\nIts output, by JSON Schema: ${JSON.stringify(outputSchema)}`
        : description,
      inputSchema,
    },
    origin,
    gated,
    deriveApprovalKey,
    timeoutMs: 0, // each call has its own limit, see LiveTool
    ...(outputSchema && { outputSchema }),
    ...(effects && { effects }),
    ...(isConcurrencySafe !== undefined && { isConcurrencySafe }),
    ...(replay && { replay }),
    check(input) {
      const problem = inputCheck(input)
      return problem === undefined ? undefined : { valid: false, error: `ToolTerminal/InputInvalid: ${problem}` }
    },
    execute: (input, context) => live.call(input, context as CallContext, run),
  }
}
