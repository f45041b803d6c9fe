import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDesk } from '../cli/cli-kit.ts'
import { startServing } from '../cli/serve-kit.ts'
import { type MockService, startMockService } from '../rpc/mock-service.ts'
import { inBrowser } from './browser-kit.ts'
import { eventually, openSession, write } from './session-kit.ts'

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())

inBrowser('a session in a folder', (browser) => {
  describe('WB72 WB73 WB89 completion, commands, mode and model, context, why', () => {
    test('WB76 WB77 WB80 files with comments, rollback and undo, on one page', async () => {
      const desk = openDesk(service.url, undefined, { snapshots: true })
      desk.write('src/cart.js', 'export const discounted = (whole, rebate) => {\n  return whole + rebate\n}\n')
      execFileSync('git', ['init', '-q', '-b', 'main'], { cwd: desk.cwd, env: { ...desk.env, HOME: desk.home } })
      const { url, said, send, untilOver } = await startServing(desk, [], 'web')
      const served = { url, link: /^open (\S+)/.exec(said.out)![1]! }
      const file = (): string => readFileSync(join(desk.cwd, 'src/cart.js'), 'utf8')
      service.play([
        { say: 'The rebate is added.' },
        { call: 'edit', args: { path: 'src/cart.js', old_string: 'whole + rebate', new_string: 'whole - rebate' } },
      ])
      await send('/v1/sessions', { id: 'fix', message: 'Find the failing test', folder: desk.cwd })
      await untilOver('fix')
      const page = await openSession(browser(), served, 'fix', { mayReport: /status of 422/ })
      const feed = page.getByRole('feed')
      const field = page.getByRole('textbox', { name: 'Message' }).or(page.getByRole('combobox', { name: 'Message' }))

      // The call that waits is allowed; its rule can be asked for, and the file is in the list of changes.
      service.play([{ say: 'The sign is right now.' }])
      await page.getByRole('button', { name: 'Allow once' }).click()
      await feed.getByText('The sign is right now.').waitFor()
      expect(file()).toContain('whole - rebate')
      await page.getByRole('button', { name: /done edit src\/cart\.js/ }).click()
      await page.getByRole('button', { name: 'Why?' }).click()
      await page.locator('.call-why', { hasText: /ask/ }).waitFor()
      await page
        .locator('.side')
        .getByRole('button', { name: /src\/cart\.js/ })
        .click()
      await page.locator('.side .diff-line.removed', { hasText: 'whole + rebate' }).waitFor()
      await page.getByRole('tab', { name: 'Context' }).click()
      await page.getByRole('img', { name: /^Context: .*tokens/ }).waitFor()

      // Files after @, commands after /.
      await field.fill('')
      await field.pressSequentially('Look at @car')
      await page.getByRole('option', { name: 'src/cart.js' }).waitFor()
      await page.keyboard.press('Tab')
      await eventually(() => field.inputValue()).toMatch(/^Look at @src\/cart\.js ?$/)
      // The file that it names goes along, and what cannot is told.
      service.play([{ say: 'I have read it.' }])
      await field.pressSequentially(' and @none.txt')
      await page.keyboard.press('Escape')
      await page.keyboard.press('Enter')
      await feed.getByText('I have read it.').waitFor()
      const named = page.locator('.message', { hasText: 'Look at @src/cart.js' })
      await named.getByRole('button', { name: 'file: src/cart.js' }).click()
      await named.getByText('whole - rebate').waitFor()
      // Once also when it is tried again.
      service.play([{ say: 'I have read it twice.' }])
      await named.hover()
      await named.getByRole('button', { name: 'More about this' }).click()
      await page.getByRole('menuitem', { name: 'Retry' }).click()
      await feed.getByText('I have read it twice.').waitFor()
      expect(await named.getByRole('button', { name: 'file: src/cart.js' }).count()).toBe(1)
      await field.pressSequentially('/lab')
      await page.getByRole('option', { name: /^\/label/ }).waitFor()
      await page.keyboard.press('Escape')
      await field.fill('')
      await write(page, '/label the sign is right')
      await feed.getByText('Label: the sign is right').waitFor()
      await write(page, '/nonsense')
      await page.getByRole('alert').filter({ hasText: 'nonsense' }).waitFor()
      service.play([{ say: 'It looks right to me.' }])
      await write(page, '/etc/hosts is wrong')
      await feed.getByText('It looks right to me.').waitFor()

      // The mode is always in sight; yolo needs a second yes, and is inverse red.
      await page.getByRole('button', { name: 'Mode: ask' }).click()
      await page.getByRole('menuitemradio', { name: /^plan/ }).click()
      await page.getByRole('button', { name: 'Mode: plan' }).click()
      await page.getByRole('menuitemradio', { name: /^yolo/ }).click()
      await page.getByRole('button', { name: 'Run without questions' }).click()
      const yolo = page.getByRole('button', { name: 'Mode: yolo' })
      await yolo.waitFor()
      expect(await yolo.evaluate((one) => getComputedStyle(one).backgroundColor)).toBe('rgb(179, 38, 30)')
      await page.getByRole('button', { name: 'Profile: build' }).click()
      await page.getByRole('menuitemradio', { name: /^plan/ }).click()
      await page.getByRole('button', { name: 'Profile: plan' }).click()
      await page.getByRole('menuitemradio', { name: /^build/ }).click()
      await page.getByRole('button', { name: 'Profile: build' }).waitFor()
      await page.getByRole('button', { name: /^Model: / }).click()
      await page.getByRole('menu', { name: /^Model: / }).waitFor()
      await page.keyboard.press('Escape')

      // A comment on a line goes into the message.
      await page.getByRole('tab', { name: 'Files' }).click()
      await page.getByRole('link', { name: 'Review all' }).click()
      await page.locator('.diff-line.added').hover()
      await page.getByRole('button', { name: 'Write about line 2' }).last().click()
      await page.getByRole('textbox', { name: 'About line 2' }).fill('Round this')
      await page.getByRole('button', { name: 'Comment', exact: true }).click()
      await page.reload() // it is kept until it goes into the message
      await page.getByRole('button', { name: 'Put 1 comment into the message' }).click()
      await eventually(() => field.inputValue()).toBe('src/cart.js:2\n> return whole - rebate\nRound this')
      await field.fill('')

      const dialog = page.getByRole('dialog', { name: 'Roll back' })
      const askForRollback = async (): Promise<void> => {
        await page.locator('.message', { hasText: 'Find the failing test' }).hover()
        await page.locator('.message').getByRole('button', { name: 'More about this' }).first().click()
        await page.getByRole('menuitem', { name: /^Roll back/ }).click()
      }
      // A file that was changed since stays, if the person wants that, and is named.
      const before = file()
      desk.write('src/cart.js', '// by hand\n')
      await askForRollback()
      await dialog.getByRole('button', { name: 'Roll back the others' }).waitFor()
      // The plan of another scope is no plan of this one.
      const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
      await page.route(/rollback\?.*what=files/, async (route) => {
        await held
        await route.continue()
      })
      await dialog.getByText('Files only').click()
      expect(await dialog.getByRole('button', { name: 'Roll back the others' }).isDisabled()).toBe(true)
      letGo()
      await dialog.getByRole('button', { name: 'Roll back the others' }).click()
      await page.getByText(/^Rolled back, except 1 file:\s+src\/cart\.js: /).waitFor()
      expect(file()).toBe('// by hand\n')
      desk.write('src/cart.js', before)

      // Back to before the message, files included, after a look at the plan; and back again.
      await askForRollback()
      await dialog.getByText('src/cart.js').waitFor()
      await dialog.getByRole('button', { name: 'Roll back', exact: true }).click()
      await page.getByText('Rolled back.').waitFor()
      expect(file()).toContain('whole + rebate')
      await eventually(() => feed.getByText('The sign is right now.').count()).toBe(0)
      await page.getByRole('button', { name: 'Undo' }).click()
      await feed.getByText('The sign is right now.').waitFor()
      await eventually(file).toContain('whole - rebate')
    })
  })
})
