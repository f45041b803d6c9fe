import { expect, onTestFinished, test, vi } from 'vitest'
import { createWebPage } from './create-web-page.ts'

test('the files of the page are read once, whatever is refused meanwhile, and again after they could not be read', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  // Reading the files takes the digest of the renderers.
  const digest = vi.spyOn(crypto.subtle, 'digest').mockRejectedValueOnce(new Error('broken'))
  onTestFinished(() => void vi.restoreAllMocks())
  const page = createWebPage({
    server: { fetch: async () => new Response() },
    renderers: 'export default () => {}',
  })
  const get = async (host: string): Promise<number> =>
    (await page.fetch(new Request('http://localhost/', { headers: { host } }))).status
  expect(await get('localhost')).toBe(500)
  expect([await get('localhost'), await get('evil.example'), await get('localhost')]).toEqual([200, 403, 200])
  expect(digest).toHaveBeenCalledTimes(2)
})
