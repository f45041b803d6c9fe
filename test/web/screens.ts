import type { Page } from 'playwright-core'

/** The address of every screen, on a server as `furnish` makes it. */
export const screenPaths = [
  ...['/', '/new', '/waiting', '/agents', '/schedules', '/usage', '/rules', '/tools', '/settings'],
  ...['/s/fix', '/s/review', '/s/plan', '/s/database', '/s/nightly', '/s/review/log', '/s/fix/files'],
]

/** Waits until a screen shows what it has to show: nothing is being loaded any more. */
export async function untilShown(page: Page): Promise<void> {
  await page.getByRole('main').getByRole('heading').or(page.getByRole('feed')).first().waitFor()
  await page.waitForFunction(() => document.querySelector('.skeleton') === null)
  await page.evaluate(() => document.fonts.ready)
}
