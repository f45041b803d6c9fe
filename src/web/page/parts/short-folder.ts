import { visibleName } from '../libero.ts'

/** A folder as it is shown: a home is `~`, as in the terminal. The whole path belongs into a title. */
export const shortFolder = (folder: string): string =>
  visibleName(folder.replace(/^(?:\/(?:home|Users)\/[^/]+|\/root)(?=\/|$)/, '~'))
