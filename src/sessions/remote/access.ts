import { show } from '../../core/behavior.ts'
import { isSameSecret } from '../../platform/is-same-secret.ts'
import { isSendable } from './options.ts'
import { Refusal } from './route.ts'

/** The operation that a client requests. */
export type StoreMethod =
  | 'list'
  | 'find'
  | 'read'
  | 'append'
  | 'lease'
  | 'send'
  | 'watch'
  | 'putBlob'
  | 'getBlob'
  | 'listBlobs'
  | 'deleteBlob'
  | 'delete'
  | 'identity'

export interface StoreAccess {
  readonly method: StoreMethod
  /** Absent for `identity`, and for `list` as a whole. */
  readonly sessionId?: string
}

/** Whether a request is allowed. It must not read the body of the request. */
export type Authorize = (request: Request, access: StoreAccess) => boolean | Promise<boolean>

export interface AccessOptions {
  readonly token?: string
  readonly authorize?: Authorize
}

export interface AccessControl {
  /** Throws unless the token is valid. */
  authenticate(request: Request): Promise<void>
  isAllowed(request: Request, access: StoreAccess): Promise<boolean>
}

/** Checks tokens and permissions. Without either option it throws, so that no store is left open by mistake. */
export function createAccessControl({ token, authorize }: AccessOptions): AccessControl {
  if (token === undefined && authorize === undefined)
    throw new TypeError(
      'createStoreHandler needs a token, or an authorize function: without one every client could read every session',
    )
  if (token !== undefined && !isSendable(token))
    throw new TypeError('createStoreHandler: token must be a text of visible ASCII characters without spaces')
  if (authorize !== undefined && typeof authorize !== 'function')
    throw new TypeError(`createStoreHandler: authorize must be a function, got ${show(authorize)}`)

  return {
    async authenticate(request) {
      if (token === undefined) return
      const sent = /^Bearer ([\x21-\x7e]+)$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? ''
      if (isSameSecret(sent, token)) return
      const message = 'This store needs a valid token'
      throw new Refusal(401, { code: 'denied', message }, { 'www-authenticate': 'Bearer' })
    },

    async isAllowed(request, access) {
      return authorize === undefined || (await authorize(request, access)) === true
    },
  }
}
