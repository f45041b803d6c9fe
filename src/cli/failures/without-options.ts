/** A failure without the option of a program that would avoid it: the command line has no such option. */
export const withoutOptions = (message: string): string =>
  message.replace(/; (?:for|if) [^;]*\braise \w+ of [^;]*$/s, '')
