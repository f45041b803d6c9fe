import { expect, test } from 'vitest'
import { loginLink } from './login-link.ts'

test('WB132 a login link carries any token, and the host with its port by which the server is reached', () => {
  const token = 'a+b/c=d#e%20&f?0123456789012345678'
  const address = 'http://0.0.0.0:7777'
  const link = loginLink({ address, token, path: '/s/a%2Fb', host: 'box.example.com:8443' })
  expect(link).toMatch(/^http:\/\/box\.example\.com:8443\/s\/a%2Fb#token=[\w%-]+$/)
  expect(decodeURIComponent(link.split('#token=')[1]!)).toBe(token)
  expect(loginLink({ address, token: 'x', host: 'box' })).toBe('http://box:7777/#token=x')
  expect(loginLink({ address, token: 'x' })).toBe('http://0.0.0.0:7777/#token=x')
})
