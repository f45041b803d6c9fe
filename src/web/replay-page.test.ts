import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { replayPage } from './replay-page.ts'

const hostile = '</script><!--<img src=x onerror=alert(1)>"\'&'

async function pageOf(lines: readonly string[], title = 'A session'): Promise<string> {
  let page = ''
  const given = (async function* () {
    yield* lines
  })()
  for await (const piece of replayPage(given, { title, isRedacted: true })) page += piece
  return page
}

const between = (page: string, from: string, to: string): string => {
  const begin = page.indexOf(from) + from.length
  return page.slice(begin, page.indexOf(to, begin))
}

test('UI-05 UI-10 in a replay file foreign text never becomes an element, and comes back as it was', async () => {
  const lines = [
    { libero: 'session', id: hostile },
    { type: 'label', text: hostile },
  ].map((one) => JSON.stringify(one))
  const page = await pageOf(
    lines.map((line) => `${line}\n`),
    hostile,
  )
  const data = between(page, 'id="session">\n', '</script>')
  expect(data).not.toContain('<')
  expect(
    data
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(lines.map((line) => JSON.parse(line)))
  expect(between(page, '<title>', '</title>')).not.toMatch(/[<>"']/)
})

test('UI-03 UI-07 the policy of a replay file allows its own script and styles, and nothing from elsewhere', async () => {
  const page = await pageOf([])
  const digest = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const policy = between(page, 'Content-Security-Policy" content="', '">')
  const script = between(page, '<script type="module">', '</script>\n</body>')
  const style = between(page, '<style>', '</style>')
  expect(policy).toContain(`default-src 'none'; script-src ${digest(script)}; style-src ${digest(style)};`)
  expect(page.indexOf('Content-Security-Policy')).toBeLessThan(page.indexOf('<style>'))
  expect(script).not.toContain('</script')
  expect(style).not.toMatch(/url\(|@import|@font-face/)
  expect(page.length).toBeLessThan(152 * 1024)
})
