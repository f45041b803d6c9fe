import { expect, test } from 'vitest'
import { scopesToAsk } from './login-mcp-server.ts'
import { challengeOf, scopesOf } from './login-required.ts'

const of = (value: string): ReturnType<typeof challengeOf> =>
  challengeOf(new Response(null, { headers: { 'www-authenticate': value } }))

test('a challenge is read with and without quotes, in any order and case', () => {
  expect(of('Bearer resource_metadata="https://x.example/m", scope="a b", error="insufficient_scope"')).toEqual({
    resourceMetadataUrl: 'https://x.example/m',
    scopes: ['a', 'b'],
    error: 'insufficient_scope',
  })
  expect(of('bearer scope=a, RESOURCE_METADATA=https://x.example/m')).toEqual({
    resourceMetadataUrl: 'https://x.example/m',
    scopes: ['a'],
  })
  expect(of('Basic realm="x", Bearer scope="a"').scopes).toEqual(['a'])
})

test('an invalid challenge, address or error code is left out', () => {
  expect(of('Basic realm="Bearer scope=x"')).toEqual({ scopes: [] })
  expect(of('Bearer resource_metadata="nowhere", error="<b>", xscope="a"')).toEqual({ scopes: [] })
  expect(challengeOf(new Response())).toEqual({ scopes: [] })
})

test('scopes are visible ASCII, unique, and limited in number', () => {
  expect(scopesOf('a  b a \u001b[31mred "q" c:*')).toEqual(['a', 'b', 'c:*'])
  expect(scopesOf(['a'])).toEqual([])
  expect(scopesOf(Array.from({ length: 500 }, (_, i) => `s${i}`).join(' '))).toHaveLength(100)
  expect(scopesOf('x'.repeat(201))).toEqual([])
})

test('OA-12 scopes of a metadata document are checked like any others', () => {
  const metadata = { issuer: '', authorization_endpoint: '', token_endpoint: '', response_types_supported: [] }
  const found = { authorizationServer: '', resource: '', metadata, challengedScopes: [] }
  const resourceMetadata = { resource: '', scopes_supported: ['read', 'a b', '\u202eevil'] }
  expect(scopesToAsk({ ...found, resourceMetadata }, [], {})).toEqual(['read', 'a', 'b'])
  expect(scopesToAsk(found, [], { scopes: ['x'] })).toEqual(['x'])
})
