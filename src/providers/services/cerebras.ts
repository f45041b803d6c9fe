import type { Provider } from '../../core/provider.ts'
import { credentialSource } from '../credential.ts'
import { createProvider, lookupFor, type ServiceOptions } from '../service.ts'
import { checkServiceOptions, serviceRules } from '../service-options.ts'

/** Open models on the hardware of Cerebras. */
export function cerebras(options: ServiceOptions = {}): Provider {
  checkServiceOptions('cerebras', options, serviceRules)
  return createProvider(
    {
      name: 'cerebras',
      wire: async () =>
        (await import('../wires/openai-chat.ts')).openaiChat({
          maxTokensField: 'max_completion_tokens',
          thinking: 'effort',
          efforts: { minimal: 'low' },
          emptyContent: 'empty',
        }),
      baseURL: options.baseURL ?? 'https://api.cerebras.ai/v1',
      defaultModel: options.defaultModel ?? 'gpt-oss-120b',
      isSilentOnOverflow: true,
      capabilities: { vision: false, imageInToolResult: false },
      credentials: credentialSource(options, lookupFor('cerebras', ['CEREBRAS_API_KEY'], options)),
      headers: (credential) => (credential ? { authorization: `Bearer ${credential.secret}` } : {}),
    },
    options,
  )
}
