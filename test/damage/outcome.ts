/** What became of something damaged: what was meant, an error for the model, or something else. */
export type Outcome = 'exact' | 'refused' | 'wrong'
