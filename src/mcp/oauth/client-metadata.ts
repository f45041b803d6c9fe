import type { OAuthClientMetadata } from '@modelcontextprotocol/client'

/** What we say of ourselves to authorization servers: a program on somebody's machine, which can keep no secret. */
export function clientMetadata(redirectUrl: string): OAuthClientMetadata {
  return {
    client_name: 'Libero',
    redirect_uris: [redirectUrl],
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
}
