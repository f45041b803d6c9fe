import {
  AgentAuthError,
  AgentContextExceededError,
  AgentPromptTooLongError,
  type AgentProviderError,
  AgentQuotaError,
  AgentRateLimitError,
} from '../../core/errors.ts'
import { withoutOptions } from '../../tui/rows/retry-notice.ts'
import type { ExplainContext } from '../explain-failure.ts'
import { knownProviders } from '../models/providers.ts'
import { networkProblem } from './system-failure.ts'

/** Explains a failure of the provider. */
export function explainProvider(error: AgentProviderError, context: ExplainContext): string {
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
