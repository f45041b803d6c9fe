import type { Provider } from '../../core/provider.ts'
import { credentialSource } from '../credential.ts'
import type { OptionRules } from '../options.ts'
import { createProvider, lookupFor, type ServiceOptions } from '../service.ts'
import { checkServiceOptions, serviceRules, textRule } from '../service-options.ts'

/**
 * Models of many vendors. Cache breakpoints are sent, and the cost is the one that OpenRouter reports. `appName` and
 * `appUrl` are shown in OpenRouter's rankings.
 */
export function openrouter(
  options: ServiceOptions & { readonly appName?: string; readonly appUrl?: string } = {},
): Provider {
  checkServiceOptions('openrouter', options, rules)
  const { appName, appUrl } = options
  return createProvider(
    {
      name: 'openrouter',
      wire: async () =>
        (await import('../wires/openai-chat.ts')).openaiChat({
          thinking: 'openrouter',
          reasoningReplay: 'details',
          cacheBreakpoints: true,
          structuredOutput: 'json_schema',
          emptyTools: true,
          documents: true,
        }),
      baseURL: options.baseURL ?? 'https://openrouter.ai/api/v1',
      defaultModel: options.defaultModel ?? 'anthropic/claude-sonnet-5',
      capabilities: { vision: true, imageInToolResult: false },
      credentials: credentialSource(options, lookupFor('openrouter', ['OPENROUTER_API_KEY'], options)),
      headers: (credential) => ({
        ...(credential && { authorization: `Bearer ${credential.secret}` }),
        ...(appUrl !== undefined && { 'http-referer': appUrl }),
        ...(appName !== undefined && { 'x-title': appName }),
      }),
      fields: (fields) => ({ ...fields, usage: { include: true } }),
    },
    options,
  )
}

const rules: OptionRules<NonNullable<Parameters<typeof openrouter>[0]>> = {
  ...serviceRules,
  appName: textRule,
  appUrl: textRule,
}
