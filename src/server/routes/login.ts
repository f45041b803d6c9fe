import { cookieName, cookieValue } from '../caller.ts'
import { notOffered } from '../problem.ts'
import { type Call, done, type Route } from '../route.ts'

/** A browser page trades the token in its address for a cookie that scripts cannot read. */
export const loginRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/login',
    scope: 'read',
    summary: 'Gives a cookie for the token of the request',
    answers: { 204: { description: 'The cookie is set' } },
    async handle({ request, server: { options } }) {
      if (!('token' in options.auth)) throw notOffered('cookies; log in at the host')
      return withCookie(request, `${await cookieValue(options.auth.token)}; Max-Age=31536000`)
    },
  },
  {
    method: 'POST',
    path: '/v1/logout',
    scope: 'read',
    summary: 'Removes the cookie',
    answers: { 204: { description: 'The cookie is removed' } },
    handle: ({ request }) => withCookie(request, '; Max-Age=0'),
  },
]

function withCookie({ url }: Call['request'], value: string): Response {
  const response = done()
  const secure = url.startsWith('https:') ? '; Secure' : ''
  response.headers.set('set-cookie', `${cookieName}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}`)
  return response
}
