export type { OAuthEndpoints, OAuthTokens } from '../auth/oauth.ts'
export type { Clock } from '../core/clock.ts'
export type { Provider, ProviderCapabilities } from '../core/provider.ts'
export type { HttpRequest, HttpResponse, Transport } from '../platform/http.ts'
export { type AiSdkModel, type AiSdkOptions, aiSdk } from './ai-sdk/ai-sdk.ts'
export { withAliases } from './aliases.ts'
export {
  type Catalogue,
  type CatalogueOverrides,
  createCatalogue,
  type ModelInfo,
  type PriceSource,
} from './catalogue.ts'
export type { CredentialLookup, CredentialOptions, CredentialSource, RequestCredential } from './credential.ts'
export { credentialSource } from './credential.ts'
export { type OfflineOptions, offline } from './offline/offline.ts'
export { type RetryOptions, withRetry } from './retry.ts'
export { createProvider, type Service, type ServiceOptions } from './service.ts'
export { type AnthropicOptions, anthropic } from './services/anthropic.ts'
export { cerebras } from './services/cerebras.ts'
export { type CompatHost, compatHosts } from './services/compat-hosts.ts'
export { google } from './services/google.ts'
export { type OpenAIOptions, openai } from './services/openai.ts'
export { type OpenAICompatOptions, openaiCompat } from './services/openai-compat.ts'
export { type OpenRouterOptions, openrouter } from './services/openrouter.ts'
export { type WatchdogOptions, withWatchdog } from './watchdog.ts'
export type { ChatQuirks } from './wires/openai-chat.ts'
export { withoutVision } from './without-vision.ts'
