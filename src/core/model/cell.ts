/**
 * One of several installations behind a router. Its name is part of every token (after its id) and of every session (after a dot), so that
 * the router needs no look-up; short enough for the ids of releases that know of no cells.
 */
export const CELL_NAME = /^[a-z][a-z0-9]{0,7}$/;
export const CELL_NAME_FORM = 'a lowercase letter, then up to 7 lowercase letters and digits';
