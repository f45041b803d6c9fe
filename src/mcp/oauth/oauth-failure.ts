import { errorCode, OAuthError } from '../../auth/token-endpoint.ts'
import { AgentError } from '../../core/errors.ts'
import { McpHttpError } from '../http/transport-fetch.ts'
import type { loadSdk } from '../load-sdk.ts'

type Sdk = Awaited<ReturnType<typeof loadSdk>>

/**
 * An error of the SDK with our own text. The SDK's text quotes the server, which may repeat a token or contain escapes, so
 * only codes and statuses are kept.
 */
export function oauthFailure(error: unknown, what: string, sdk: Sdk): Error {
  if (error instanceof AgentError) return error
  if (error instanceof McpHttpError)
    return new OAuthError(`${what} failed: ${error.message}`, { code: error.code, retryable: isTemporary(error.code) })
  if (error instanceof sdk.IssuerMismatchError && error.kind === 'metadata')
    return failed(what, 'issuer_mismatch', 'the metadata of the authorization server name another server', trust)
  if (error instanceof sdk.IssuerMismatchError)
    return failed(what, 'issuer_mismatch', 'the answer does not come from the server that was asked', trust)
  if (error instanceof sdk.RegistrationRejectedError)
    return failed(
      what,
      'registration_rejected',
      `the authorization server does not register us (HTTP ${error.status})`,
      ownClient,
    )
  if (error instanceof sdk.InsecureTokenEndpointError)
    return failed(what, 'insecure_url', 'the token endpoint is not https', trust)
  if (error instanceof sdk.OAuthError) return refusal(what, errorCode(error.code) ?? 'refused')
  const text = error instanceof Error ? error.message : ''
  if (/does not support dynamic client registration/.test(text))
    return failed(what, 'no_registration', 'the authorization server does not register clients by itself', ownClient)
  if (/^Protected resource .* does not match/.test(text))
    return failed(
      what,
      'resource_mismatch',
      'the metadata are for another server than the one that is configured',
      trust,
    )
  return failed(
    what,
    'invalid_response',
    'an answer of the authorization server cannot be understood',
    'check the address of the server, and that no proxy answers in its place',
  )
}

/** Whether the refresh token or the client is no longer valid, so that a person has to log in again. */
export function isLoginOver(error: unknown): boolean {
  return error instanceof OAuthError && finalCodes.has(error.code)
}

const finalCodes = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client'])
const trust = 'do not log in there; ask who runs the server'
const ownClient = 'register a client there by hand and pass its id'

function failed(what: string, code: string, why: string, next: string): OAuthError {
  return new OAuthError(`${what} failed: ${why}; ${next}`, { code })
}

function refusal(what: string, code: string): OAuthError {
  const why =
    code === 'access_denied' ? 'access was denied in the browser' : `the authorization server answered ${code}`
  return new OAuthError(`${what} failed: ${why}; try again, or log in again`, { code, retryable: isTemporary(code) })
}

const isTemporary = (code: string): boolean =>
  /^(server_error|temporarily_unavailable|too_many_requests|timeout|network|E[A-Z]+)$/.test(code)
