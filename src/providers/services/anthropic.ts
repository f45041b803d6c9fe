import type { OAuthEndpoints } from '../../auth/oauth.ts'
import type { Provider } from '../../core/provider.ts'
import { credentialSource } from '../credential.ts'
import type { OptionRules } from '../options.ts'
import { createProvider, lookupFor, type ServiceOptions } from '../service.ts'
import {
  checkServiceOptions,
  endpointsRule,
  objectRule,
  serviceRules,
  textRule,
  textsRule,
} from '../service-options.ts'
import type { Fields } from '../wire.ts'
import { traitsOf } from '../wires/anthropic-models.ts'

export interface AnthropicOptions extends ServiceOptions {
  /** Added to the `anthropic-beta` header. */
  readonly extraBetas?: readonly string[]
  /** Sent as `context_management`. */
  readonly contextManagement?: Readonly<Record<string, unknown>>
  /** The `anthropic-version` header. Default: the newest for Anthropic itself, `2023-06-01` for compatible services. */
  readonly version?: string
  /**
   * The authorization server that renews the access token in `access`, and your client id there. No default: public
   * endpoints are known only for `openai` (`codexOAuth`).
   */
  readonly oauth?: OAuthEndpoints
}

/** Claude, from Anthropic or from a compatible service at `baseURL`. */
export function anthropic(options: AnthropicOptions = {}): Provider {
  checkServiceOptions('anthropic', options, rules, ownHeaders)
  const { extraBetas = [], contextManagement, oauth } = options
  // Some base URLs end with `/v1`, which the wire's path already contains.
  const baseURL = (options.baseURL ?? anthropicURL).replace(/\/v1\/*$/, '')
  const version = options.version ?? (new URL(baseURL).origin === anthropicURL ? newestVersion : compatibleVersion)
  const credentialLookup = { ...lookupFor('anthropic', ['ANTHROPIC_API_KEY'], options), ...(oauth && { oauth }) }
  return createProvider(
    {
      name: 'anthropic',
      wire: async () => (await import('../wires/anthropic-messages.ts')).anthropicMessages(),
      baseURL,
      defaultModel: options.defaultModel ?? 'claude-sonnet-5',
      capabilities: {
        vision: true,
        imageInToolResult: true,
        adaptiveThinking: true,
        structuredOutput: (model) => traitsOf(model).structuredOutput,
      },
      credentials: credentialSource(options, credentialLookup),
      headers(credential) {
        const isOAuth = credential?.kind === 'oauth'
        const betas = new Set([
          ...(isOAuth ? ['oauth-2025-04-20'] : []),
          ...(contextManagement ? ['context-management-2025-06-27'] : []),
          ...extraBetas,
        ])
        return {
          'anthropic-version': version,
          ...(betas.size > 0 && { 'anthropic-beta': [...betas].join(',') }),
          ...(credential &&
            (isOAuth ? { authorization: `Bearer ${credential.secret}` } : { 'x-api-key': credential.secret })),
        }
      },
      fields(wireFields, { model }) {
        const acceptsSampling = version < newestVersion && traitsOf(model).acceptsSampling
        const fields = acceptsSampling ? wireFields : withoutSampling(wireFields)
        return contextManagement ? { ...fields, context_management: contextManagement } : fields
      },
    },
    options,
  )
}

const anthropicURL = 'https://api.anthropic.com'
/** Values of the `anthropic-version` header. */
const newestVersion = '2026-10-21'
const compatibleVersion = '2023-06-01'

const rules: OptionRules<AnthropicOptions> = {
  ...serviceRules,
  extraBetas: textsRule,
  contextManagement: objectRule,
  version: textRule,
  oauth: endpointsRule,
}

/**
 * The headers that this provider sets itself, each with the option for it. `checkServiceOptions` refuses them in the option `headers`:
 * the first two because the service rejects a request with two credentials, the others because the provider's own values would
 * replace them.
 */
const ownHeaders = {
  'x-api-key': 'apiKey',
  authorization: 'access',
  'anthropic-beta': 'extraBetas',
  'anthropic-version': 'version',
}

/** Newer models refuse a request with any of these fields. With the newest `anthropic-version` header, all models do. */
function withoutSampling({ temperature: _, top_p: __, top_k: ___, ...fields }: Fields): Fields {
  return fields
}
