import type { Provider } from '../../core/provider.ts'
import { credentialSource } from '../credential.ts'
import { createProvider, lookupFor, type ServiceOptions } from '../service.ts'
import { checkServiceOptions, serviceRules } from '../service-options.ts'

/** Gemini, from Google's API. */
export function google(options: ServiceOptions = {}): Provider {
  checkServiceOptions('google', options, serviceRules, { 'x-goog-api-key': 'apiKey', authorization: 'access' })
  return createProvider(
    {
      name: 'google',
      wire: async () => (await import('../wires/gemini.ts')).gemini(),
      baseURL: options.baseURL ?? 'https://generativelanguage.googleapis.com/v1beta',
      defaultModel: options.defaultModel ?? 'gemini-3-pro-preview',
      capabilities: {
        vision: true,
        imageInToolResult: false,
        // Older models accept a response schema or tools, not both.
        structuredOutput: (model) => !/gemini-([12]\b|pro)|gemma|tunedModels|robotics-er-1/i.test(model),
      },
      credentials: credentialSource(options, lookupFor('google', ['GEMINI_API_KEY', 'GOOGLE_API_KEY'], options)),
      headers: (credential) => {
        if (!credential) return {}
        const { kind, secret } = credential
        return kind === 'oauth' ? { authorization: `Bearer ${secret}` } : { 'x-goog-api-key': secret }
      },
    },
    options,
  )
}
