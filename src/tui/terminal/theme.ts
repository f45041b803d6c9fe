/** Which colours of the terminal's palette are used for what. What a theme does not name is as usual. */
export interface Theme {
  /** The person, the selected item, code. Usually cyan. */
  readonly accent?: PaletteColour
  /** What went well, added lines. Usually green. */
  readonly good?: PaletteColour
  /** What failed, removed lines, the mode yolo. Usually red. */
  readonly bad?: PaletteColour
  /** What waits for the person. Usually yellow. */
  readonly warning?: PaletteColour
  /** The mode plan. Usually blue. */
  readonly plan?: PaletteColour
  /** What need not be read. Usually faint. */
  readonly quiet?: PaletteColour
}

/** A colour as the terminal defines it, so that it fits a light and a dark background. */
export type PaletteColour = keyof typeof paletteCodes

export const paletteCodes = {
  default: 39,
  ...{ black: 30, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36, white: 37 },
  ...{ grey: 90, brightRed: 91, brightGreen: 92, brightYellow: 93 },
  ...{ brightBlue: 94, brightMagenta: 95, brightCyan: 96, brightWhite: 97 },
} as const

export type ThemeName = 'terminal' | 'bright' | 'contrast' | 'mono'

/** The themes that come with Libero. */
export const themes: Readonly<Record<ThemeName, Theme>> = {
  terminal: {},
  bright: {
    ...{ accent: 'brightCyan', good: 'brightGreen', bad: 'brightRed' },
    ...{ warning: 'brightYellow', plan: 'brightBlue' },
  },
  contrast: { quiet: 'default' },
  mono: { accent: 'default', good: 'default', bad: 'default', warning: 'default', plan: 'default' },
}
