import { show } from '../../core/behavior.ts'
import { sha256 } from './bytes.ts'
import { isSendable } from './options.ts'
import { Refusal } from './refusal.ts'

/** What somebody wants to do. */
export type StoreMethod =
  | 'list'
  | 'read'
  | 'append'
  | 'lease'
  | 'send'
  | 'watch'
  | 'putBlob'
  | 'getBlob'
  | 'delete'
  | 'identity'

export interface StoreAccess {
  readonly method: StoreMethod
  /** Absent for `identity`, and for `list` as a whole. */
  readonly sessionId?: string
}

/** Whether a request may do that. It must leave the body of the request alone. */
export type Authorize = (request: Request, access: StoreAccess) => boolean | Promise<boolean>

export interface AccessOptions {
  readonly token?: string
  readonly authorize?: Authorize
}

export interface Gate {
  /** Throws unless the token is right. */
  admit(request: Request): Promise<void>
  allows(request: Request, access: StoreAccess): Promise<boolean>
}

/** Who gets in. There is no way to leave the door open by forgetting it. */
export function createGate({ token, authorize }: AccessOptions): Gate {
  if (token === undefined && authorize === undefined)
    throw new TypeError(
      'createStoreHandler needs a token, or an authorize function: without one anybody could read every session',
    )
  if (token !== undefined && !isSendable(token))
    throw new TypeError('createStoreHandler: token must be a text of visible ASCII characters without spaces')
  if (authorize !== undefined && typeof authorize !== 'function')
    throw new TypeError(`createStoreHandler: authorize must be a function, got ${show(authorize)}`)

  return {
    async admit(request) {
      if (token === undefined) return
      const given = /^Bearer ([\x21-\x7e]+)$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? ''
      if (await isSame(given, token)) return
      const message = 'This store needs a valid token'
      throw new Refusal(401, { code: 'denied', message }, { 'www-authenticate': 'Bearer' })
    },

    async allows(request, access) {
      return authorize === undefined || (await authorize(request, access)) === true
    },
  }
}

/** Takes as long for a token that is nearly right as for any other. */
async function isSame(given: string, right: string): Promise<boolean> {
  const encoder = new TextEncoder()
  const [one, other] = await Promise.all([sha256(encoder.encode(given)), sha256(encoder.encode(right))])
  let difference = 0
  for (let i = 0; i < one.length; i++) difference |= one[i]! ^ other[i]!
  return difference === 0
}
