import type { OAuthEndpoints } from '../../auth/oauth.ts'
import type { Provider } from '../../core/provider.ts'
import { credentialSource } from '../credential.ts'
import type { OptionRules } from '../options.ts'
import { createProvider, lookupFor, type ServiceOptions } from '../service.ts'
import { checkServiceOptions, endpointsRule, serviceRules, textRule } from '../service-options.ts'

export interface OpenAIOptions extends ServiceOptions {
  readonly organization?: string
  readonly project?: string
  /** The OAuth endpoints that renew the access token in `access`. Default: the public values of the Codex CLI. */
  readonly oauth?: OAuthEndpoints
}

/** OpenAI's models, with an API key of the platform, or with an OAuth token (`access`) of a ChatGPT plan, as Codex does. */
export function openai(options: OpenAIOptions = {}): Provider {
  checkServiceOptions('openai', options, rules)
  const { organization, project, oauth } = options
  const credentialLookup = lookupFor('openai', ['OPENAI_API_KEY'], options)
  return createProvider(
    {
      name: 'openai',
      wire: async () => (await import('../wires/openai-responses.ts')).openaiResponses(),
      baseURL: (credential) => options.baseURL ?? (credential?.kind === 'oauth' ? codexURL : platformURL),
      defaultModel: options.defaultModel ?? 'gpt-5.5',
      capabilities: { vision: true, imageInToolResult: true, structuredOutput: true },
      credentials: credentialSource(options, {
        ...credentialLookup,
        oauth: oauth ?? (async () => (await import('../../auth/oauth.ts')).codexOAuth),
      }),
      headers(credential, { sessionId }) {
        if (!credential) return {}
        const authorization = `Bearer ${credential.secret}`
        if (credential.kind === 'api_key')
          return {
            authorization,
            ...(organization !== undefined && { 'openai-organization': organization }),
            ...(project !== undefined && { 'openai-project': project }),
          }
        return {
          authorization,
          originator: 'libero',
          'openai-beta': 'responses=experimental',
          ...(credential.accountId !== undefined && { 'chatgpt-account-id': credential.accountId }),
          ...(sessionId !== undefined && headerText.test(sessionId) && { session_id: sessionId }),
        }
      },
      fields({ max_output_tokens, ...fields }, _request, credential) {
        // The backend for ChatGPT plans refuses `max_output_tokens`, and a request without `instructions`.
        return credential?.kind === 'oauth' ? { instructions: '', ...fields } : { max_output_tokens, ...fields }
      },
    },
    options,
  )
}

const rules: OptionRules<OpenAIOptions> = {
  ...serviceRules,
  organization: textRule,
  project: textRule,
  oauth: endpointsRule,
}

/** The text that a header allows. A session id of an embedder may contain other characters. */
const headerText = /^[\x21-\x7e]+$/

const platformURL = 'https://api.openai.com/v1'
const codexURL = 'https://chatgpt.com/backend-api/codex'
