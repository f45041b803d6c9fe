import {
  AgentAbortedError,
  AgentAuthError,
  AgentBudgetError,
  AgentContextExceededError,
  AgentPromptTooLongError,
  AgentProviderError,
  AgentQuotaError,
  AgentRateLimitError,
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
import { withoutOptions } from '../tui/rows/retry-notice.ts'
import { CliError, exitCodes } from './cli-error.ts'
import { explainLease, explainMissing, explainStore } from './failures/session-failure.ts'
import { explainExecution, explainSystem, networkProblem } from './failures/system-failure.ts'
import { knownProviders } from './models/providers.ts'

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

/** Explains a failure of the provider. */
function explainProvider(error: AgentProviderError, context: ExplainContext): string {
  const provider = context.safe(error.provider)
  const said = context.safe(
    withoutOptions(error.message)
      .replace(/^Provider "[^"]*"(?: failed)?: /, '')
      .replace(/^the service asked to wait until .*? Service message: /s, ''),
  )
  const model = context.model === undefined ? 'the model' : `"${context.safe(context.model)}"`
  const other = 'choose another with --provider'
  if (error instanceof AgentAuthError) return explainAuth(error, provider, said, context)
  if (error instanceof AgentQuotaError)
    return `the account at ${provider} has no credit left (${said}): add credit there, or ${other}`
  if (error instanceof AgentRateLimitError)
    return `${provider} limits the rate of requests (${said}): ${whenAgain(error, context)}`
  if (error instanceof AgentPromptTooLongError) return said.replace(/^The/, 'the').replace(/\.$/, '')
  if (error instanceof AgentContextExceededError)
    return `the conversation exceeds the context window of ${model}: start a new one, or choose a model with a larger window (see: libero models ${provider})`
  if (error.providerCode === 'unknown_price')
    return `--max-cost cannot be enforced, because the price of ${model} of ${provider} is unknown: limit the run with --max-turns, or choose a model with a price (see: libero models)`
  if (isUnknownModel(error, context))
    return `${provider} has no model ${context.model === undefined ? 'of that name' : model} (${said}): choose one with --model (see: libero models ${provider})`
  if (error.providerCode === 'stalled')
    return `${provider} is too slow (${said}): check the network, then: libero --continue`
  const network = networkProblem(error, provider, context)
  if (network !== undefined) return network
  if (/\bHTTP 404\b/.test(said)) return `${provider} has no such address (${said}): check its baseURL`
  const next = error.retryable
    ? 'try again later: libero --continue'
    : `to continue with another model: libero --continue --model <model>`
  return `${provider} failed (${said}): ${next}`
}

function explainAuth(
  { providerCode }: AgentAuthError,
  provider: string,
  said: string,
  { env }: ExplainContext,
): string {
  const variables = knownProviders({}).get(provider)?.env ?? []
  const set = variables.find((name) => env[name]?.trim())
  const login = `run: libero login ${provider}`
  if (providerCode === 'no_credentials')
    return `${provider} needs a key: ${variables[0] ? `set ${variables[0]}, or ` : ''}${login} (to try without one: --provider offline)`
  return `${provider} did not accept the key (${said}): ${set === undefined ? login : `correct ${set}, or unset it and ${login}`}`
}

function whenAgain({ retryAt }: AgentRateLimitError, { now = Date.now() }: ExplainContext): string {
  if (retryAt === undefined) return 'try again later: libero --continue'
  const seconds = Math.max(1, Math.ceil((retryAt - now) / 1000))
  const wait =
    seconds < 120
      ? `${seconds} seconds`
      : seconds < 7200
        ? `${Math.ceil(seconds / 60)} minutes`
        : `${Math.ceil(seconds / 3600)} hours`
  return `try again in ${wait}: libero --continue`
}

/** Each service reports it differently; a bare 404 may also be a wrong address. */
function isUnknownModel({ providerCode = '', message }: AgentProviderError, { model }: ExplainContext): boolean {
  if (/^(?:model_not_found|model_not_available|invalid_model)$/.test(providerCode)) return true
  const isNotFound = /\bHTTP 404\b/.test(message)
  if (isNotFound && ((model !== undefined && message.includes(model)) || /\bmodel\b/i.test(message))) return true
  return (
    /\bHTTP 4(?:00|22)\b/.test(message) &&
    /not a valid model|invalid model|unknown model|model\b.{0,120}(?:not found|does not exist|not exist|not available)/i.test(
      message,
    )
  )
}
