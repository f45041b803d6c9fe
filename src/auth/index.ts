export type { Clock } from '../core/clock.ts'
export type { AgentError } from '../core/errors.ts'
export {
  type ApiKeyCredential,
  type Credential,
  type CredentialStore,
  type CredentialSummary,
  CredentialsError,
  createCredentialStore,
  type OAuthCredential,
} from './credentials.ts'
export { type LoginOptions, login } from './login.ts'
export { codexOAuth, type OAuthEndpoints, OAuthError, type OAuthTokens } from './oauth.ts'
