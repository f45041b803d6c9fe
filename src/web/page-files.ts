/**
 * The files of the page by their paths. A checkout builds them when they are first needed. In the package this module holds
 * them as text (scripts/page-as-text.ts), so that they survive the bundling of an application.
 */
export async function pageFiles(): Promise<Readonly<Record<string, string>>> {
  const script = new URL('../../scripts/build-page.ts', import.meta.url).href
  const { builtPage } = (await import(script)) as { builtPage: () => Promise<Readonly<Record<string, string>>> }
  return builtPage()
}
