import type { Config } from '../config/config.ts'

/**
 * The tools that settings leave out, in both spellings: the tool that fetches pages is `web_fetch` in a run and
 * `web-fetch` in an agent that stays, and a person who leaves out one means both.
 */
export const leftOut = ({ withoutTools = [] }: Pick<Config, 'withoutTools'>): readonly string[] => [
  ...new Set(withoutTools.flatMap((name) => [name, name.replaceAll('_', '-'), name.replaceAll('-', '_')])),
]
