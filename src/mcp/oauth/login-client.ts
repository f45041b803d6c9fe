import { loadSdk } from '../load-sdk.ts'
import { clientMetadata } from './client-metadata.ts'
import type { McpClientInformation } from './credential.ts'
import type { FoundLogin } from './find-login.ts'
import type { McpLoginOptions } from './login-options.ts'

/** One that was registered by hand, else a document about us, else one that the server makes for us. */
export async function clientFor(
  { authorizationServer, metadata }: FoundLogin,
  redirectUrl: string,
  scopes: readonly string[],
  { client, clientMetadataUrl }: McpLoginOptions,
  fetchFn: typeof globalThis.fetch,
): Promise<McpClientInformation> {
  if (client) return { client_id: client.id, ...(client.secret !== undefined && { client_secret: client.secret }) }
  const sdk = await loadSdk()
  if (clientMetadataUrl !== undefined && metadata.client_id_metadata_document_supported === true) {
    sdk.validateClientMetadataUrl(clientMetadataUrl)
    return { client_id: clientMetadataUrl }
  }
  const registered = await sdk.registerClient(authorizationServer, {
    metadata,
    clientMetadata: clientMetadata(redirectUrl),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    fetchFn,
  })
  const { client_id, client_secret, token_endpoint_auth_method } = registered
  return {
    client_id,
    ...(client_secret !== undefined && { client_secret }),
    ...(token_endpoint_auth_method !== undefined && { token_endpoint_auth_method }),
  }
}
