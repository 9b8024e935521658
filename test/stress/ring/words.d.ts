export declare const GATE: number;
export declare const PRODUCED: number;
export declare const PRODUCERS_DONE: number;
export declare const STOP: number;
export declare const CREDITS: number;
export declare const TAKEN: number;
export declare const CONTROL_WORDS: number;
export declare const PER_PRODUCER: number;
export declare const producerOf: (value: number) => number;
