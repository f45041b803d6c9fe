import type { OAuthEndpoints } from './oauth.ts'

/** The public values of the open-source Codex CLI: a ChatGPT account in place of an API key. */
export const codexOAuth: OAuthEndpoints = {
  clientId: 'app_EMoamEEZ73f0CkXaXp7hrann',
  issuer: 'https://auth.openai.com',
  authorizeUrl: 'https://auth.openai.com/oauth/authorize',
  tokenUrl: 'https://auth.openai.com/oauth/token',
  scopes: ['openid', 'profile', 'email', 'offline_access'],
  redirect: { host: 'localhost', port: 1455, path: '/auth/callback' },
  extraAuthorizeParams: {
    id_token_add_organizations: 'true',
    codex_cli_simplified_flow: 'true',
    originator: 'libero',
  },
}
