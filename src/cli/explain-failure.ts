import {
  AgentAbortedError,
  AgentBudgetError,
  AgentProviderError,
  CodedError,
  LeaseLostError,
  messageOf,
  SessionBusyError,
  SessionParkedError,
  StoreError,
} from '../core/errors.ts'
import { cutText } from '../core/text.ts'
import { createRedactor } from '../platform/redact.ts'
import { fullyVisible } from '../platform/visible-text.ts'
import { CliError, exitCodes } from './cli-error.ts'
import { explainProvider } from './failures/provider-failure.ts'
import { explainLease, explainMissing, explainStore } from './failures/session-failure.ts'
import { explainExecution, explainSystem } from './failures/system-failure.ts'

/** What is known about the command that failed. */
export interface FailureContext {
  /** Contains `LIBERO_DEBUG`, and keys that must not be shown. */
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly provider?: string
  readonly model?: string
  readonly sessionId?: string
  /** In ms since the epoch; default now. */
  readonly now?: number
}

export interface ExplainContext extends FailureContext {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Makes a foreign text safe for a terminal: without secrets and control characters, on one line, of limited length. */
  safe(text: string): string
}

/** The message for a person about any error of a command, with the next step, and its exit code. */
export function explainFailure(error: unknown, context: FailureContext = {}): { message: string; exitCode: number } {
  const { env = {} } = context
  const redactor = createRedactor({ env })
  const message = messageFor(error, { ...context, env, safe: (text) => onOneLine(redactor.text(text)) })
  const stack = env.LIBERO_DEBUG === '1' ? fullyVisible(redactor.text(stackOf(error)), { lines: 'kept' }) : ''
  return { message: stack === '' ? message : `${message}\n${stack}`, exitCode: exitCodeOf(error) }
}

function onOneLine(text: string): string {
  const lines = text.split(/[\r\n]+/).map((line) => line.trim())
  return cutText(fullyVisible(lines.filter((line) => line !== '').join(' ')), 600)
}

function messageFor(error: unknown, context: ExplainContext): string {
  if (error instanceof CliError) return error.message
  if (error instanceof AgentAbortedError) return 'interrupted; to continue: libero --continue'
  if (isInterrupted(error)) return 'interrupted'
  if (error instanceof AgentBudgetError) return explainBudget(error, context)
  if (error instanceof StoreError) return explainStore(error, context)
  if (error instanceof SessionBusyError || error instanceof SessionParkedError || error instanceof LeaseLostError)
    return explainLease(error, context)
  if (error instanceof CodedError) return explainCoded(error, context)
  return (
    explainShape(error) ??
    explainExecution(error, context) ??
    (error instanceof AgentProviderError ? explainProvider(error, context) : undefined) ??
    explainMissing(error) ??
    explainSystem(error, context) ??
    context.safe(messageOf(error))
  )
}

function explainShape(error: unknown): string | undefined {
  if (!(error instanceof AgentProviderError) || error.providerCode !== 'output_invalid') return undefined
  return 'the answer of the model does not match --schema; try again, or use another model'
}

/** A run or a dialog was stopped. */
const isInterrupted = (error: unknown): boolean =>
  error instanceof AgentAbortedError || (error instanceof Error && error.name === 'AbortError')

function explainBudget({ limit, message }: AgentBudgetError, { safe }: ExplainContext): string {
  const flag = limit === 'cost' ? '--max-cost' : limit === 'turns' ? '--max-turns' : `limits.${safe(limit)}`
  return `a limit was reached (${safe(message)}): to continue with a higher one: libero --continue, with another ${flag}`
}

/** The message without class and code, which are for programs. */
function explainCoded({ class: kind, code, message }: CodedError, { safe }: ExplainContext): string {
  const said = safe(message.replace(`${kind}/${code}: `, ''))
  if (code === 'AuditWriteFailed') return `nothing was done, because the audit cannot be written: ${said}`
  const isSetting =
    /^(?:Invalid(?:Rule|Pattern|Setting|SecurityMode|AuthorityOption)|UnknownSetting|AllowlistWithoutMode)$/
  if (isSetting.test(code) && ofFlag.test(said)) return said.replace(ofFlag, '--$1 $2 ')
  return isSetting.test(code) ? `a setting cannot be used: ${said} (see: libero config, libero policy --help)` : said
}

/** An error about a rule that was given as a flag. */
const ofFlag = /^the launch settings' (allow|deny)\[\d+\], (.*?), (?=is |has |names )/

function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode
  if (isInterrupted(error)) return exitCodes.interrupted
  if (error instanceof CodedError && ofFlag.test(error.message.replace(/^\S+: /, ''))) return exitCodes.usage
  if (error instanceof AgentBudgetError) return exitCodes.budget
  if (error instanceof CodedError && (error.code === 'NoInteractorAttached' || error.code === 'permission-required'))
    return exitCodes.permission
  return exitCodes.error
}

function stackOf(error: unknown): string {
  const stacks: string[] = []
  for (let at = error; at instanceof Error && stacks.length < 6; at = at.cause) stacks.push(at.stack ?? at.message)
  return stacks.join('\ncaused by ')
}
